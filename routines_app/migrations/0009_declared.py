"""What code says about a routine is kept beside what it is: people may differ, and can give it back.

Unset for routines that were declared before; their next sync fills it. On the way back the column goes, and with it
only what code says again.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0008_rotations"),
    ]

    operations = [
        migrations.AddField(
            model_name="routine",
            name="declared",
            field=models.JSONField(
                blank=True,
                editable=False,
                help_text="Each field that code has said when it was last synced, as it would be stored. "
                "Unset: not known.",
                null=True,
            ),
        ),
    ]
