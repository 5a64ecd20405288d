"""What the admin's lists are filtered, searched and ordered by, at a million routines; and filters that people save.

PostgreSQL looks for tags, and for how names begin whatever their case, by indexes that only it has. Where there are no
partial indexes (MySQL, MariaDB), failing routines are found by a plain one.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from routines_app.models import ledger_time

POSTGRESQL = {
    "routine_by_tags": "USING gin (tags jsonb_path_ops)",
    "routine_name_begins": "(UPPER(name::text) text_pattern_ops)",
    "routine_task_begins": "(UPPER(task::text) text_pattern_ops)",
    "routine_group_begins": '(UPPER("group"::text) text_pattern_ops)',
}
FAILING = models.Index(fields=["failure_count"], name="state_failing_plain")


def add_own_indexes(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for name, what in POSTGRESQL.items():
            schema_editor.execute(f"CREATE INDEX IF NOT EXISTS {name} ON routines_routine {what}")
    elif not schema_editor.connection.features.supports_partial_indexes:
        model = apps.get_model("routines", "RoutineState")
        if not _is_there(model, schema_editor.connection):
            schema_editor.add_index(model, FAILING)


def remove_own_indexes(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for name in (*POSTGRESQL, "routine_search"):  # the last is what `routines index-search` has made
            schema_editor.execute(f"DROP INDEX IF EXISTS {name}")
    elif not schema_editor.connection.features.supports_partial_indexes:
        model = apps.get_model("routines", "RoutineState")
        if _is_there(model, schema_editor.connection):
            schema_editor.remove_index(model, FAILING)


def _is_there(model: Any, connection: Any) -> bool:
    """What was cut off there is not undone: MySQL and MariaDB have no transactions around such statements."""
    with connection.cursor() as cursor:
        return FAILING.name in connection.introspection.get_constraints(cursor, model._meta.db_table)


class Migration(migrations.Migration):
    dependencies = [("routines", "0014_runs_indexes")]

    operations = [
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("listed", models.CharField(help_text="Which list: the name of its model.", max_length=64)),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="Whose it is; empty: everybody's.", max_length=64
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.TextField(help_text="What stands behind the question mark.")),
                ("made_by", models.CharField(blank=True, default="", max_length=255)),
                ("created_at", models.DateTimeField(default=ledger_time.now, editable=False)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("listed", "owner", "name"), name="one_saved_filter_per_name")
                ],
                "permissions": [("share_savedfilter", "Can save filters of lists for everybody")],
                "default_permissions": (),
            },
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["concurrency_policy", "name"], name="routine_by_overlap"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["priority", "name"], name="routine_by_priority"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["trigger_kind", "name"], name="routine_by_trigger"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["group", "name"], name="routine_by_group"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["paused_until", "name"], name="routine_by_pause", condition=Q(status="PAUSED")),
        ),
        migrations.AddIndex(
            model_name="routinestate",
            index=models.Index(fields=["routine"], name="state_failing", condition=Q(failure_count__gt=0)),
        ),
        migrations.AddIndex(
            model_name="routinestate",
            index=models.Index(
                fields=["routine"],
                name="state_hinted",
                condition=Q(hint_interval_expires_at__isnull=False)
                | Q(hint_next_expires_at__isnull=False)
                | Q(hint_factor_expires_at__isnull=False),
            ),
        ),
        migrations.RunPython(add_own_indexes, remove_own_indexes, atomic=False),
    ]
