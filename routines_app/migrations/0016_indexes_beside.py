"""What the admin's lists are filtered, searched and ordered by, at a million routines.

PostgreSQL looks for tags, and for how names begin whatever their case, by indexes that only it has. Where there are no
partial indexes (MySQL, MariaDB), failing routines are found by a plain one. PostgreSQL makes them beside the work;
whoever was cut off can migrate again.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from routines_app.models.index_beside import AddIndexBeside, beside, drop_half_made, indexes_of

POSTGRESQL = {
    "routine_by_tags": "USING gin (tags jsonb_path_ops)",
    "routine_name_begins": "(UPPER(name::text) text_pattern_ops)",
    "routine_task_begins": "(UPPER(task::text) text_pattern_ops)",
    "routine_group_begins": '(UPPER("group"::text) text_pattern_ops)',
}
FAILING = models.Index(fields=["failure_count"], name="state_failing_plain")


def add_own_indexes(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        how = "CONCURRENTLY " if beside(schema_editor) else ""
        for name, what in POSTGRESQL.items():
            drop_half_made(schema_editor, name)
            schema_editor.execute(f"CREATE INDEX {how}IF NOT EXISTS {name} ON routines_routine {what}")
    elif not schema_editor.connection.features.supports_partial_indexes:
        model = apps.get_model("routines", "RoutineState")
        if FAILING.name not in indexes_of(schema_editor, model):
            schema_editor.add_index(model, FAILING)


def remove_own_indexes(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        how = "CONCURRENTLY " if beside(schema_editor) else ""
        for name in (*POSTGRESQL, "routine_search"):  # the last is what `routines index-search` has made
            schema_editor.execute(f"DROP INDEX {how}IF EXISTS {name}")
    elif not schema_editor.connection.features.supports_partial_indexes:
        model = apps.get_model("routines", "RoutineState")
        if FAILING.name in indexes_of(schema_editor, model):
            schema_editor.remove_index(model, FAILING)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("routines", "0015_list_indexes")]

    operations = [
        AddIndexBeside(
            model_name="routine",
            index=models.Index(fields=["concurrency_policy", "name"], name="routine_by_overlap"),
        ),
        AddIndexBeside(
            model_name="routine",
            index=models.Index(fields=["priority", "name"], name="routine_by_priority"),
        ),
        AddIndexBeside(
            model_name="routine",
            index=models.Index(fields=["trigger_kind", "name"], name="routine_by_trigger"),
        ),
        AddIndexBeside(
            model_name="routine",
            index=models.Index(fields=["group", "name"], name="routine_by_group"),
        ),
        AddIndexBeside(
            model_name="routine",
            index=models.Index(fields=["paused_until", "name"], name="routine_by_pause", condition=Q(status="PAUSED")),
        ),
        AddIndexBeside(
            model_name="routinestate",
            index=models.Index(fields=["routine"], name="state_failing", condition=Q(failure_count__gt=0)),
        ),
        AddIndexBeside(
            model_name="routinestate",
            index=models.Index(
                fields=["routine"],
                name="state_hinted",
                condition=Q(hint_interval_expires_at__isnull=False)
                | Q(hint_next_expires_at__isnull=False)
                | Q(hint_factor_expires_at__isnull=False),
            ),
        ),
        migrations.RunPython(add_own_indexes, remove_own_indexes),
    ]
