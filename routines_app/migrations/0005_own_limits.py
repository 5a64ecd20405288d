"""A routine may leave its task's own limits and retries alone.

Time-outs that are the old default, and that no edit has set, become unset: whoever chose it when the routine was made
is not known. A window in milliseconds says so.
"""

from typing import Any

from django.db import migrations, models

OLD_DEFAULT_MS = 300_000
TIMEOUT_HELP = "Unset: the task's own limits, and 5 minutes for one that has none. 0: none."


def unset_defaults(apps: Any, schema_editor: Any) -> None:
    """What somebody has chosen in an edit stays, also where it is the same."""
    alias = schema_editor.connection.alias
    routines = apps.get_model("routines", "Routine").objects.using(alias)
    changes = apps.get_model("routines", "ScheduleChange").objects.using(alias)
    chosen = changes.filter(kind="updated", routine_id__isnull=False, after__has_key="timeout_ms").values("routine_id")
    routines.filter(timeout_ms=OLD_DEFAULT_MS).exclude(id__in=chosen).update(timeout_ms=None)


def set_defaults(apps: Any, schema_editor: Any) -> None:
    for name in ("Routine", "RoutineRun"):
        rows = apps.get_model("routines", name).objects.using(schema_editor.connection.alias)
        rows.filter(models.Q(timeout_ms=None) | models.Q(timeout_ms=0)).update(timeout_ms=OLD_DEFAULT_MS)


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0004_no_open_skip"),
    ]

    operations = [
        migrations.RenameField(model_name="routine", old_name="catch_up_window", new_name="catch_up_window_ms"),
        migrations.AlterField(
            model_name="routine",
            name="catch_up_window_ms",
            field=models.BigIntegerField(
                blank=True, help_text="Slots that were missed longer ago are not caught up.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routine",
            name="options",
            field=models.JSONField(
                blank=True, help_text="More for the message: priority, headers, exchange, routing_key.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="own_retries",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Retries before this attempt that the task asked for itself."
            ),
        ),
        migrations.RemoveConstraint(model_name="routine", name="routine_timeout_1s_to_24h"),
        migrations.AlterField(
            model_name="routine",
            name="timeout_ms",
            field=models.BigIntegerField(blank=True, help_text=TIMEOUT_HELP, null=True),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="timeout_ms",
            field=models.BigIntegerField(help_text="The routine's, as it was.", null=True),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(timeout_ms__isnull=True)
                | models.Q(timeout_ms=0)
                | models.Q(timeout_ms__gte=1000, timeout_ms__lte=86_400_000),
                name="routine_timeout_none_or_1s_to_24h",
            ),
        ),
        migrations.RunPython(unset_defaults, set_defaults, elidable=True),
    ]
