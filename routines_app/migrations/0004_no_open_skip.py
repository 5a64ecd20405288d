"""Slots of a cron are counted at once: no claim goes on with the SKIPPED row of another."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0003_deliveries"),
    ]

    operations = [
        migrations.RemoveField(model_name="routinestate", name="open_skip"),
    ]
