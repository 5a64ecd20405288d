"""Routines that are declared in code: the static `beat_schedule` of a Celery app, kept in step with the ledger.

A routine belongs to the app that declares it (its scope). Code decides schedule, task and arguments; people may still
pause, run and hint it. One that nobody declares any more is archived after a while, and comes back when it is
declared again.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.plan.planning import plan_slots
from routines_app.protocol.record.changes import BEAT
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.create import insert
from routines_app.verbs.editing import editing
from routines_app.verbs.update import apply_changes


def declare_routine(name: str, fields: dict[str, Any], scope: str) -> Routine:
    """Make the routine what the code says; a name that is taken by somebody else gets the scope added."""
    own = Routine.objects.using(ledger_alias()).filter(declared_in=scope)
    routine = own.filter(name__in=[name, _scoped(name, scope)]).first()
    if routine is None:
        taken = Routine.objects.using(ledger_alias()).filter(name=name).exists()
        values = {**fields, "name": _scoped(name, scope) if taken else name}
        return insert(clean_new(values), actor=BEAT, reason="declared in code", declared_in=scope)
    if routine.status == RoutineStatus.ARCHIVED:
        _revive(routine)
    return apply_changes(routine.pk, fields, actor=BEAT, reason="changed in code", from_code=True)


def note_declared(names: Collection[str], scope: str, now: datetime) -> int:
    """A live beat still declares these."""
    both = [spelled for name in names for spelled in (name, _scoped(name, scope))]
    routines = Routine.objects.using(ledger_alias()).filter(declared_in=scope, name__in=both)
    return routines.update(declared_seen_at=now)


def archive_undeclared(scope: str, not_seen_since: datetime) -> list[str]:
    """Archive what no live beat of the scope has declared since then; their names."""
    gone = list(
        Routine.objects.using(ledger_alias())
        .filter(declared_in=scope, declared_seen_at__lt=not_seen_since)
        .exclude(status=RoutineStatus.ARCHIVED)
    )
    for routine in gone:
        archive_routine(routine.pk, actor=BEAT, reason="no longer declared in code")
    return [routine.name for routine in gone]


def _scoped(name: str, scope: str) -> str:
    return f"{name} ({scope})"


def _revive(routine: Routine) -> None:
    """Only code may bring an archived routine back: it never stopped being the code's."""
    with editing(routine.pk, actor=BEAT, reason="declared in code again") as edit:
        edit.routine.status, edit.routine.paused_until, edit.routine.pause_reason = RoutineStatus.ACTIVE, None, ""
        edit.save_routine("status", "paused_until", "pause_reason")
        plan_slots(edit.routine, edit.state, edit.now)
        edit.save_state()
        edit.record(
            ChangeKind.RESUMED, before={"status": RoutineStatus.ARCHIVED}, after={"status": edit.routine.status}
        )
