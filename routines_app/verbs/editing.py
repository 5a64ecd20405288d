"""The frame of every verb that changes a routine: one transaction, the state locked, beats woken after the commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import NotAllowed
from routines_app.core.said import Said, said
from routines_app.core.transitions import can_change
from routines_app.core.words import RoutineStatus
from routines_app.models import ChangeKind, Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_or_make_state
from routines_app.protocol.record import changes
from routines_app.verbs.checking import sizes
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.rules import Text
from routines_app.verbs.held_rows import verb_transaction

ACTOR = Text(longest=changes.LONGEST_ACTOR)
REASON = Text(longest=sizes.LONGEST_REASON, lines=True)


def actor_name(actor: object) -> str:
    """Who acts, as the history has it. What beats write there is the code's: a person of that name is told apart."""
    name = ACTOR("actor", str(actor or ""))
    taken = name in (changes.BEAT, changes.WORKER, changes.CODE) and not isinstance(actor, changes.Process)
    return f"user {name}" if taken else name


@dataclass(kw_only=True)
class Edit:
    """A routine with its state locked, and what there is to say about the change."""

    routine: Routine
    state: RoutineState
    now: datetime
    actor: str
    reason: str

    def save_state(self) -> None:
        self.state.save(using=ledger_alias())

    def save_routine(self, *fields: str) -> None:
        self.routine.save(using=ledger_alias(), update_fields=[*fields, "updated_at"])

    def record(
        self, kind: ChangeKind, *, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
    ) -> None:
        changes.record(
            kind,
            self.routine,
            self.state,
            self.now,
            actor=self.actor,
            reason=self.reason,
            before=before,
            after=after,
        )


@contextmanager
def editing(ref: RoutineRef, *, actor: object = "", reason: str = "") -> Iterator[Edit]:
    """Lock the routine's state and read the routine behind the lock; a caller's instance follows the change."""
    actor, reason = actor_name(actor), REASON("reason", reason)
    found = find_routine(ref)
    with verb_transaction("routine", found.name if isinstance(ref, Routine) else ref):
        state = lock_or_make_state(found.pk)
        routine = find_routine(found.pk)
        routine.state, state.routine = state, routine
        # The clock is read behind the lock: whatever the last holder stamped is not later than this.
        yield Edit(routine=routine, state=state, now=clock.now(), actor=actor, reason=reason)
        on_commit(wake_beats)
    if isinstance(ref, Routine):
        follow(ref, routine)  # or its next edit would be taken for a stale one
        ref.state = routine.state


def refuse_move(routine: Routine, to: RoutineStatus, expected: Said) -> None:
    """Refuse a change of status that makes no sense."""
    if not can_change(RoutineStatus(routine.status), to):
        raise NotAllowed("status", routine.status, expected)


def refuse_archived(routine: Routine, why: Said) -> None:
    if routine.status == RoutineStatus.ARCHIVED:
        raise NotAllowed("status", routine.status, why)


def refuse_shadowed(routine: Routine) -> None:
    """A run of ours beside the old scheduler's would be one too many."""
    if routine.shadow:
        raise NotAllowed(
            "shadow",
            routine.name,
            said("in shadow: {fired_by} still fires it; use switch_over first", fired_by=routine.fired_by),
        )


def follow(theirs: Model, ours: Model) -> None:
    """Bring the caller's instance up to date."""
    for field in ours._meta.concrete_fields:
        setattr(theirs, field.attname, getattr(ours, field.attname))
