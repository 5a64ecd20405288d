"""Routines in shadow: an old scheduler still fires them, and what it fires is recorded.

An older release knows no shadow and would fire them beside the old scheduler: on the way back they are paused.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import CASCADE, Q
from django.utils import timezone

from routines_app.models import ledger_time

REASONS = [
    "exception",
    "timeout",
    "worker_lost",
    "orphaned",
    "interrupted",
    "unknown_task",
    "bad_arguments",
    "rejected",
    "picked",
    "ignored",
    "abandoned",
    "overlap",
    "misfire",
    "paused",
    "expired",
    "parked",
    "superseded",
    "idle",
    "full",
    "shadow",
    "replaced",
    "cancelled",
    "archived",
    "ceiling",
    "not_yet",
    "replacing",
    "lease_held",
    "key_taken",
    "routine_held",
    "redis_away",
    "publish_failed",
    "overdue",
]
AT_ONCE = 500  # rows in a statement: SQLite takes a bounded number of values


def leave_shadow(apps: Any, schema_editor: Any) -> None:
    """What an older release knows instead: it was paused, and something else stood for the slots."""
    alias = schema_editor.connection.alias
    runs = apps.get_model("routines", "RoutineRun").objects.using(alias)
    runs.filter(reason="shadow").update(reason="superseded")
    pause_shadowed(apps, alias)
    if schema_editor.connection.vendor == "postgresql":  # which alters no table while foreign keys wait to be checked
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


def pause_shadowed(apps: Any, alias: str) -> None:
    why = "it was in shadow, which an older release does not know: the old scheduler fires it"
    routines = apps.get_model("routines", "Routine").objects.using(alias)
    # Also a pause that would end by itself: an older release would fire from then on.
    shadowed = routines.filter(shadow=True).filter(Q(status="ACTIVE") | Q(status="PAUSED", paused_until__isnull=False))
    found = list(shadowed.values_list("pk", "name", "status"))
    changes = apps.get_model("routines", "ScheduleChange")
    changes.objects.using(alias).bulk_create(
        changes(
            routine_id=pk,
            routine_name=name,
            kind="paused",
            at=timezone.now(),
            reason=why,
            before={"status": status},
            after={"status": "PAUSED"},
        )
        for pk, name, status in found
    )
    states = apps.get_model("routines", "RoutineState").objects.using(alias)
    for begin in range(0, len(found), AT_ONCE):
        ids = [pk for pk, _, _ in found[begin : begin + AT_ONCE]]
        states.filter(pk__in=ids).update(next_run_at=None, next_source="paused")
        routines.filter(pk__in=ids).update(status="PAUSED", paused_until=None, pause_reason=why)


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0010_once"),
    ]

    operations = [
        migrations.CreateModel(
            name="MovedEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "scheduler",
                    models.CharField(help_text="django-celery-beat, celery-redbeat or beat_schedule.", max_length=32),
                ),
                ("key", models.CharField(help_text="The entry's name there.", max_length=255)),
                (
                    "disabled_at",
                    models.DateTimeField(help_text="When a switch-over disabled the old entry.", null=True),
                ),
                (
                    "switched_at",
                    models.DateTimeField(
                        help_text="Since when the routine fires; NULL: the old entry does.", null=True
                    ),
                ),
                (
                    "last_fired_at",
                    models.DateTimeField(
                        help_text="Its last fire, as it said itself before it was disabled.",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(default=ledger_time.now, editable=False)),
                (
                    "routine",
                    models.OneToOneField(on_delete=CASCADE, related_name="moved_entry", to="routines.routine"),
                ),
            ],
            options={
                "ordering": ["scheduler", "key"],
                "constraints": [models.UniqueConstraint(fields=("scheduler", "key"), name="one_routine_per_old_entry")],
            },
        ),
        migrations.CreateModel(
            name="OldFire",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("scheduler", models.CharField(max_length=32)),
                ("key", models.CharField(max_length=255)),
                ("task_id", models.CharField(max_length=64)),
                ("fired_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["fired_at"],
                "indexes": [
                    models.Index(fields=["scheduler", "key", "fired_at"], name="old_fire_by_entry"),
                    models.Index(fields=["fired_at"], name="old_fire_by_time"),
                ],
                "constraints": [models.UniqueConstraint(fields=("task_id",), name="one_old_fire_per_message")],
            },
        ),
        migrations.AddField(
            model_name="routine",
            name="shadow",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="An old scheduler still fires it: its slots are recorded and not run.",
            ),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="reason",
            field=models.CharField(
                blank=True,
                choices=[(code, code.replace("_", " ").capitalize()) for code in REASONS],
                db_default="",
                default="",
                max_length=24,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, leave_shadow),
    ]
