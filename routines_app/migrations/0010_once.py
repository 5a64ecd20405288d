"""ONCE as a fourth kind of trigger: a routine that fires at one moment.

The words that the constraints know are exchanged last, so first on the way back: where that is refused, MariaDB and
MySQL, which undo no DDL, still have every column.
"""

from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from django.db import migrations, models
from django.db.models import Q

KINDS = ["CRON", "INTERVAL", "ONCE", "MANUAL"]
OF_SLOTS = [
    "baseline-cron",
    "baseline-interval",
    "baseline-once",
    "hint-interval",
    "hint-oneshot",
    "hint-factor",
    "clamped-min",
    "clamped-max",
]
SOURCES = [*OF_SLOTS, "paused", "manual", "ended", "archived", "parked", "catching-up"]
AT_ONCE = 500  # rows in a statement: SQLite takes a bounded number of values
AS_A_CRON = ["trigger_kind", "cron", "once_at", "timezone", "start_at", "end_at", "min_interval_ms", "max_interval_ms"]


def let_them_be_crons(apps: Any, schema_editor: Any) -> None:
    """An older release knows no ONCE. A cron that starts and ends at that very second fires once as well.

    It would take another fingerprint for an edit by plain SQL, and leave the planned slot out.
    """
    alias = schema_editor.connection.alias
    routines, states, runs = (
        apps.get_model("routines", name).objects.using(alias) for name in ("Routine", "RoutineState", "RoutineRun")
    )
    found = list(routines.filter(trigger_kind="ONCE").order_by("pk"))
    for begin in range(0, len(found), AT_ONCE):
        batch = found[begin : begin + AT_ONCE]
        planned = {state.pk: state for state in states.filter(pk__in=[routine.pk for routine in batch])}
        for routine in batch:
            make_cron(routine)
            if routine.pk in planned and planned[routine.pk].fingerprint:
                planned[routine.pk].fingerprint = fingerprint(routine)
        routines.bulk_update(batch, AS_A_CRON)
        states.bulk_update(planned.values(), ["fingerprint"])
    states.filter(next_source="baseline-once").update(next_source="baseline-cron")
    states.filter(slot_source="baseline-once").update(slot_source="baseline-cron")
    runs.filter(source="baseline-once").update(source="baseline-cron")
    settle(schema_editor)


def make_cron(routine: Any) -> None:
    at = routine.once_at.astimezone(UTC).replace(microsecond=0)
    routine.cron = f"{at.second} {at.minute} {at.hour} {at.day} {at.month} *"
    routine.trigger_kind, routine.once_at, routine.timezone = "CRON", None, "UTC"
    routine.start_at = routine.end_at = at
    routine.min_interval_ms = routine.max_interval_ms = None  # they said nothing about one moment


def fingerprint(routine: Any) -> str:
    """As the older release makes it of such a cron."""
    at: datetime = routine.start_at
    facts = ("CRON", routine.cron, None, "UTC", at.isoformat(), at.isoformat(), None, None)
    return blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def settle(schema_editor: Any) -> None:
    """PostgreSQL looks at the foreign key of a row updated twice at the end, and alters no table before."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


def words(codes: list[str]) -> list[tuple[str, str]]:
    return [(code, code.replace("-", " ").capitalize()) for code in codes]


def renewed(model: str, name: str, condition: Q) -> list[Any]:
    return [
        migrations.RemoveConstraint(model_name=model, name=name),
        migrations.AddConstraint(model, models.CheckConstraint(condition=condition, name=name)),
    ]


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0009_declared"),
    ]

    operations = [
        migrations.AddField(model_name="routine", name="once_at", field=models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            model_name="routine",
            name="trigger_kind",
            field=models.CharField(choices=words(KINDS), db_default="MANUAL", default="MANUAL", max_length=24),
        ),
        migrations.AlterField(
            model_name="routinestate",
            name="next_source",
            field=models.CharField(choices=words(SOURCES), db_default="manual", default="manual", max_length=24),
        ),
        migrations.AlterField(
            model_name="routinestate",
            name="slot_source",
            field=models.CharField(
                blank=True,
                choices=words(OF_SLOTS),
                db_default="",
                default="",
                help_text="Why that slot, whatever holds it back; empty: there is none.",
                max_length=24,
            ),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="source",
            field=models.CharField(blank=True, choices=words(SOURCES), db_default="", default="", max_length=24),
        ),
        *renewed("routine", "routine_trigger_is_known", Q(trigger_kind__in=KINDS)),
        *renewed(
            "routine",
            "routine_has_what_its_trigger_needs",
            (Q(trigger_kind="CRON", interval_ms=None, once_at=None) & ~Q(cron=""))
            | Q(trigger_kind="INTERVAL", interval_ms__isnull=False, once_at=None, cron="")
            | Q(trigger_kind="ONCE", interval_ms=None, once_at__isnull=False, cron="")
            | Q(trigger_kind="MANUAL", interval_ms=None, once_at=None, cron=""),
        ),
        *renewed("routinestate", "state_source_is_known", Q(next_source__in=SOURCES)),
        *renewed("routinestate", "state_slot_source_is_known", Q(slot_source__in=["", *OF_SLOTS])),
        migrations.RunPython(migrations.RunPython.noop, let_them_be_crons),
    ]
