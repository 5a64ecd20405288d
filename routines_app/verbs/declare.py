"""Routines that are declared in code: the static `beat_schedule` of a Celery app, kept in step with the ledger.

A routine belongs to the app that declares it (its scope). Code decides schedule, task, arguments and message; people
may still pause, run and hint it, and choose policies: what somebody has edited stays, the others are what the code
says, or what a routine has by itself once the code says nothing about them any more. The history tells who has said
what. One that nobody declares any more is archived after a while, and comes back when it is declared again.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from routines_app.core.errors import NotAllowed
from routines_app.core.words import TRIGGER_FIELDS, RoutineStatus
from routines_app.models import ChangeKind, Routine, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.locks import skipping_locked
from routines_app.protocol.plan.hints import plan_anew
from routines_app.protocol.record.changes import BEAT
from routines_app.protocol.upkeep.archived import cancel_waiting, has_waiting
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.checking.known_tasks import task_name
from routines_app.verbs.checking.validation import DECLARED_FIELDS, FIELDS, clean_new
from routines_app.verbs.create import insert
from routines_app.verbs.editing import editing
from routines_app.verbs.update import apply_changes

IN_THE_LEDGER = ("pool", "parent", "task")  # a task is looked for among those of this process
# What an entry says always, or under another name; the timezone of an interval is nobody's.
KEPT_ONCE_SAID = frozenset({*TRIGGER_FIELDS, "name", "task", "timezone"})


def declare_routine(name: str, fields: dict[str, Any], scope: str) -> Routine:
    """Make the routine what the code says; a name that is taken by somebody else gets the scope added."""
    own = Routine.objects.using(ledger_alias()).filter(declared_in=scope)
    routine = own.filter(name__in=[name, _scoped(name, scope)]).first()
    if routine is None:
        taken = Routine.objects.using(ledger_alias()).filter(name=name).exists()
        values = {**fields, "name": _scoped(name, scope) if taken else name}
        cleaned = clean_new(values, allow_unknown_task=True)
        return insert(cleaned, actor=BEAT, reason="declared in code", declared_in=scope)
    if routine.status == RoutineStatus.ARCHIVED:
        _revive(routine)
    owned = _owned(routine, fields)
    reason = "changed in code"
    return apply_changes(routine.pk, owned, actor=BEAT, reason=reason, from_code=True, allow_unknown_task=True)


def check_declared(fields: dict[str, Any]) -> None:
    """Refuse what could not be declared, as far as that can be known without asking the database."""
    task_name("task", fields["task"])
    clean_new({name: value for name, value in fields.items() if name not in IN_THE_LEDGER})


def _owned(routine: Routine, fields: dict[str, Any]) -> dict[str, Any]:
    """What is the code's to say: not what a person has edited; and what it said once, and does not any more."""
    by_people, by_code = _said_before(routine)
    gone = by_code - fields.keys() - KEPT_ONCE_SAID
    unsaid = Routine()
    wanted = fields | {name: getattr(unsaid, name) for name in gone}
    return {name: value for name, value in wanted.items() if name in DECLARED_FIELDS or name not in by_people}


def _said_before(routine: Routine) -> tuple[set[str], set[str]]:
    """The fields that people have edited, and those that the code has given, by the routine's history."""
    kinds = [ChangeKind.CREATED, ChangeKind.UPDATED]
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=routine.pk, kind__in=kinds)
    by_people, by_code = set[str](), set[str]()
    for actor, after in changes.values_list("actor", "after"):
        (by_code if actor == BEAT else by_people).update(FIELDS.keys() & set(after or ()))
    return by_people, by_code


def note_declared(names: Collection[str], scope: str, now: datetime) -> int:
    """A live beat still declares these. Those that somebody holds are noted the next time."""
    routines = Routine.objects.using(ledger_alias()).filter(declared_in=scope, name__in=_spelled(names, scope))
    free = list(skipping_locked(routines.order_by("pk"), keys=False).values_list("pk", flat=True))
    return routines.filter(pk__in=free).update(declared_seen_at=now)


def undeclared(names: Collection[str], scope: str, not_seen_since: datetime) -> list[tuple[int, str]]:
    """The ids and names of what no live beat of the scope has declared since then, and the caller does not either.

    One that the caller declares may have been held whenever somebody wanted to note that.
    """
    gone = Routine.objects.using(ledger_alias()).filter(declared_in=scope, declared_seen_at__lt=not_seen_since)
    gone = gone.exclude(name__in=_spelled(names, scope))
    return list(gone.exclude(status=RoutineStatus.ARCHIVED).order_by("pk").values_list("pk", "name"))


def archive_undeclared(routine_id: int) -> None:
    archive_routine(routine_id, actor=BEAT, reason="no longer declared in code")


def _spelled(names: Collection[str], scope: str) -> list[str]:
    """As the routines of these entries may be called."""
    return [spelled for name in names for spelled in (name, _scoped(name, scope))]


def _scoped(name: str, scope: str) -> str:
    return f"{name} ({scope})"


def _revive(routine: Routine) -> None:
    """Only code may bring an archived routine back: it never stopped being the code's.

    What waited when it was archived is cancelled, and stays so: a beat tries again when none of it is left.
    """
    with editing(routine.pk, actor=BEAT, reason="declared in code again") as edit:
        cancel_waiting(routine.pk, edit.now)
        if has_waiting(routine.pk):
            raise NotAllowed("routine", routine.name, "runs from before its archive are still being cancelled")
        edit.routine.status, edit.routine.paused_until, edit.routine.pause_reason = RoutineStatus.ACTIVE, None, ""
        edit.save_routine("status", "paused_until", "pause_reason")
        plan_anew(edit.routine, edit.state, edit.now, changed=True)
        edit.save_state()
        edit.record(
            ChangeKind.RESUMED, before={"status": RoutineStatus.ARCHIVED}, after={"status": edit.routine.status}
        )
