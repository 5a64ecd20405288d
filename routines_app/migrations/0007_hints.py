"""Each hint has a value, an expiry, a reason and an author of its own; grid and clamps have anchors.

The words that the constraints know are exchanged last, so first on the way back: where that is refused, MariaDB and
MySQL, which undo no DDL, still have every column.
"""

from datetime import timedelta
from typing import Any

from django.db import migrations, models
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

KINDS = [
    "created",
    "updated",
    "paused",
    "resumed",
    "archived",
    "parked",
    "reset",
    "hinted",
    "hints_cleared",
    "hint_expired",
    "replanned",
    "lease_released",
    "deleted",
]
OF_SLOTS = [
    "baseline-cron",
    "baseline-interval",
    "hint-interval",
    "hint-oneshot",
    "hint-factor",
    "clamped-min",
    "clamped-max",
]
SOURCES = [
    "baseline-cron",
    "baseline-interval",
    "hint-interval",
    "hint-oneshot",
    "hint-factor",
    "clamped-min",
    "clamped-max",
    "paused",
    "manual",
    "ended",
    "archived",
    "parked",
    "catching-up",
]
KEYS_AT_ONCE = 500  # SQLite takes a bounded number of them in a statement
VALUES = {"interval": "hint_interval_ms", "next": "hint_next_at", "factor": "hint_factor"}


def states_of(apps: Any, schema_editor: Any) -> Any:
    return apps.get_model("routines", "RoutineState").objects.using(schema_editor.connection.alias)


def settle(schema_editor: Any) -> None:
    """PostgreSQL looks at the foreign key of a row updated twice at the end, and alters no table before."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


def say_why_the_slots(apps: Any, schema_editor: Any) -> None:
    """Where a pause or a catch-up has overwritten it, the slot is the trigger's own unless it tells what moved it."""
    planned = states_of(apps, schema_editor).exclude(next_slot=None)
    planned.filter(next_source__in=OF_SLOTS).update(slot_source=F("next_source"))
    hidden = planned.exclude(next_source__in=OF_SLOTS)
    baselines = {"CRON": "baseline-cron", "INTERVAL": "baseline-interval", "MANUAL": "hint-interval"}
    for kind, source in baselines.items():
        hidden.filter(routine__trigger_kind=kind).update(slot_source=source)
    movable = Q(hint_interval_ms__isnull=False) | Q(hint_next_at__isnull=False)
    movable |= Q(routine__min_interval_ms__isnull=False) | Q(routine__max_interval_ms__isnull=False)
    moved: dict[str, list[int]] = {}
    for state in hidden.filter(movable).select_related("routine"):
        moved.setdefault(what_moved(state), []).append(state.pk)
    for source, keys in moved.items():
        for at in range(0, len(keys) if source else 0, KEYS_AT_ONCE):
            hidden.filter(pk__in=keys[at : at + KEYS_AT_ONCE]).update(slot_source=source)
    settle(schema_editor)


def what_moved(state: Any) -> str:
    """The hint or the clamp that has chosen the slot, by the older release's rules; nothing: it is the trigger's own.

    Taken for the interval's own, a slot beside its grid would take the grid along. A cron's slot does no such harm, and
    by its distance alone it cannot be told from one that a clamp has chosen.
    """
    if state.hint_next_at == state.next_slot:
        return "hint-oneshot"
    routine = state.routine
    distance = state.next_slot - (state.last_slot or routine.start_at or routine.created_at)
    if routine.trigger_kind != "INTERVAL":
        return "hint-interval" if is_apart(distance, state.hint_interval_ms) else ""
    if not distance % timedelta(milliseconds=routine.interval_ms):
        return ""
    if is_apart(distance, routine.min_interval_ms):
        return "clamped-min"
    if is_apart(distance, routine.max_interval_ms):
        return "clamped-max"
    if state.hint_next_at is not None and state.hint_next_at < state.next_slot:  # it had passed when it was proposed
        return "hint-oneshot"
    return "" if state.hint_interval_ms is None else "hint-interval"


def is_apart(distance: timedelta, ms: int | None) -> bool:
    return ms is not None and distance == timedelta(milliseconds=ms)


def give_each_hint_its_own(apps: Any, schema_editor: Any) -> None:
    """The expiry that they shared belongs to whichever there is; a hint without one would never have ended."""
    states = states_of(apps, schema_editor)
    states.filter(hint_expires_at=None).exclude(hint_interval_ms=None, hint_next_at=None).update(
        hint_interval_ms=None, hint_next_at=None
    )
    for kind in ("interval", "next"):
        states.exclude(**{VALUES[kind]: None}).update(
            **{f"hint_{kind}_expires_at": F("hint_expires_at"), f"hint_{kind}_reason": F("hint_reason")}
        )
    settle(schema_editor)


def share_one_expiry(apps: Any, schema_editor: Any) -> None:
    """Back to the one that they shared: the later one."""
    states = states_of(apps, schema_editor)
    one, other = F("hint_interval_expires_at"), F("hint_next_expires_at")
    states.exclude(hint_interval_ms=None, hint_next_at=None).update(
        hint_expires_at=Greatest(Coalesce(one, other), Coalesce(other, one)), hint_reason=F("hint_interval_reason")
    )
    states.filter(hint_interval_ms=None).exclude(hint_next_at=None).update(hint_reason=F("hint_next_reason"))
    settle(schema_editor)


def use_older_words(apps: Any, schema_editor: Any) -> None:
    """An older release knows no factors. What one has planned is an interval's to it, and it plans anew after that."""
    alias = schema_editor.connection.alias
    states_of(apps, schema_editor).filter(next_source="hint-factor").update(next_source="hint-interval")
    runs = apps.get_model("routines", "RoutineRun").objects.using(alias)
    runs.filter(source="hint-factor").update(source="hint-interval")
    apps.get_model("routines", "ScheduleChange").objects.using(alias).filter(kind="hint_expired").delete()
    settle(schema_editor)


def anchor_grid_and_clamps(apps: Any, schema_editor: Any) -> None:
    """Both counted from the last slot so far. Under a hint that is none of the interval's own: the newest that was.

    Unless the next slot is the interval's own: the older release has counted that from the last slot, whatever this
    was, and has announced it. The grid is where it says.
    """
    states = states_of(apps, schema_editor)
    states.exclude(last_slot=None).update(clamps_from=F("last_slot"))
    intervals = states.filter(routine__trigger_kind="INTERVAL").exclude(last_slot=None)
    from_last = Q(hint_interval_ms=None) | Q(slot_source="baseline-interval")
    intervals.filter(from_last).update(grid_from=F("last_slot"))
    runs = apps.get_model("routines", "RoutineRun").objects.using(schema_editor.connection.alias)
    own = runs.filter(routine_id=OuterRef("pk"), source="baseline-interval", trigger="schedule")
    newest = own.order_by("-scheduled_for").values("scheduled_for")[:1]
    intervals.exclude(from_last).update(grid_from=Subquery(newest))
    settle(schema_editor)


def words(codes: list[str]) -> list[tuple[str, str]]:
    return [(code, code.replace("_", " ").replace("-", " ").capitalize()) for code in codes]


def hint_fields(kind: str) -> list[migrations.AddField]:
    fields: dict[str, models.Field[Any, Any]] = {
        "expires_at": models.DateTimeField(null=True),
        "reason": models.TextField(db_default="", default=""),
        "by": models.CharField(db_default="", default="", max_length=255),
    }
    return [
        migrations.AddField(model_name="routinestate", name=f"hint_{kind}_{name}", field=field)
        for name, field in fields.items()
    ]


def has_expiry(kind: str) -> migrations.AddConstraint:
    value, expires_at = VALUES[kind], f"hint_{kind}_expires_at"
    condition = Q(**{f"{value}__isnull": True, f"{expires_at}__isnull": True})
    condition |= Q(**{f"{value}__isnull": False, f"{expires_at}__isnull": False})
    name = f"state_hint_{kind}_has_expiry"
    return migrations.AddConstraint("routinestate", models.CheckConstraint(condition=condition, name=name))


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0006_queue_and_default_pool"),
    ]

    operations = [
        migrations.AlterField(
            model_name="routinestate",
            name="next_source",
            field=models.CharField(choices=words(SOURCES), db_default="manual", default="manual", max_length=24),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="source",
            field=models.CharField(blank=True, choices=words(SOURCES), db_default="", default="", max_length=24),
        ),
        migrations.AlterField(
            model_name="schedulechange",
            name="kind",
            field=models.CharField(choices=words(KINDS), max_length=24),
        ),
        migrations.AddField(model_name="routinestate", name="hint_factor", field=models.FloatField(null=True)),
        *(field for kind in VALUES for field in hint_fields(kind)),
        migrations.AddField(
            model_name="routinestate",
            name="grid_from",
            field=models.DateTimeField(
                help_text="What an interval's slots are counted from; empty: its start, or the creation.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routinestate",
            name="clamps_from",
            field=models.DateTimeField(
                help_text="The last scheduled slot that has a row: what clamps count from.", null=True
            ),
        ),
        migrations.AddField(
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
        migrations.RunPython(say_why_the_slots, migrations.RunPython.noop),
        migrations.RunPython(give_each_hint_its_own, share_one_expiry),
        migrations.RunPython(anchor_grid_and_clamps, migrations.RunPython.noop),
        migrations.RemoveField(model_name="routinestate", name="hint_expires_at"),
        migrations.RemoveField(model_name="routinestate", name="hint_reason"),
        *(has_expiry(kind) for kind in VALUES),
        migrations.RemoveConstraint(model_name="routinestate", name="state_source_is_known"),
        migrations.RemoveConstraint(model_name="schedulechange", name="change_kind_is_known"),
        migrations.AddConstraint(
            model_name="routinestate",
            constraint=models.CheckConstraint(condition=Q(next_source__in=SOURCES), name="state_source_is_known"),
        ),
        migrations.AddConstraint(
            model_name="routinestate",
            constraint=models.CheckConstraint(
                condition=Q(slot_source__in=["", *OF_SLOTS]), name="state_slot_source_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="schedulechange",
            constraint=models.CheckConstraint(condition=Q(kind__in=KINDS), name="change_kind_is_known"),
        ),
        migrations.RunPython(migrations.RunPython.noop, use_older_words),
    ]
