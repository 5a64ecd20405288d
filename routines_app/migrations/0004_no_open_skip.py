"""Slots of a cron are counted at once: no claim goes on with the SKIPPED row of another.

And who deletes runs does not look for their retries, which have no index and no constraint to find them by.
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0003_deliveries"),
    ]

    operations = [
        migrations.RemoveField(model_name="routinestate", name="open_skip"),
        migrations.AlterField(
            model_name="routinerun",
            name="retry_of",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="retries",
                to="routines.routinerun",
            ),
        ),
    ]
