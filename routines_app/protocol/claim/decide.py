"""What a claim does with one due routine: the rows it writes and the state it leaves. Nothing is written here."""

from __future__ import annotations

from datetime import datetime, timedelta
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from routines_app.conf import get_settings
from routines_app.core.admission import LOOK_AGAIN, ActiveRun, Candidate, Hold, Publish, Replace, Skip, admit
from routines_app.core.catch_up import Fire
from routines_app.core.firing import Firing, Skipped
from routines_app.core.jitter import jitter_ms
from routines_app.core.keys import slot_key
from routines_app.core.triggers import Span
from routines_app.core.words import (
    CatchUpPolicy,
    ConcurrencyPolicy,
    Reason,
    RoutineStatus,
    RunStatus,
    RunTrigger,
    Source,
)
from routines_app.models import new_run_id
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.claim.firings import Firings
from routines_app.protocol.claim.new_runs import NewRun
from routines_app.protocol.plan.planning import fingerprint_of, plan_from_now

_HINTS = frozenset({Source.HINT_ONESHOT, Source.HINT_INTERVAL})

_state_values = itemgetter(*(DueRow._fields.index(field) for field in NewState._fields))


class Claimed(NamedTuple):
    """The decision about one routine."""

    state: NewState
    runs: tuple[NewRun, ...] = ()
    stop: tuple[UUID, ...] = ()
    cancel: tuple[UUID, ...] = ()
    extend: Span | None = None
    extended_row: UUID | None = None
    replanned: bool = False


def needs_active_runs(row: DueRow, now: datetime) -> bool:
    """Overlap matters for exclusive routines, and while an ALL catch-up goes through one slot after another."""
    if row.concurrency_policy != ConcurrencyPolicy.ALLOW:
        return True
    catches_all = CatchUpPolicy.ALL in (row.catch_up_policy, row.release_policy)
    return catches_all and row.next_slot is not None and row.next_slot < now - _grace(row)


def decide(row: DueRow, active: list[ActiveRun], now: datetime, firings: Firings) -> Claimed:
    """Decide what is due. Raises whatever a broken schedule raises."""
    fingerprint = fingerprint_of(row)
    if row.status != RoutineStatus.ACTIVE or row.next_slot is None or row.fingerprint != fingerprint:
        return _replanned(row, fingerprint, now)
    firing = firings.of(row, row.next_slot)
    if firing.sequential and active:
        return _waiting_for_its_turn(row)
    return _fired(row, firing, active, now)


def _replanned(row: DueRow, fingerprint: str, now: datetime) -> Claimed:
    """The schedule was changed behind the service's back (plain SQL, `.update()`): plan anew, from now.

    Of the slots that the old schedule still owed, only the planned one is known: it is in the ledger as superseded.
    """
    anchor, plan = plan_from_now(row, row, now)
    active = row.status == RoutineStatus.ACTIVE
    state = _state_of(row)._replace(
        last_slot=anchor,
        next_slot=plan.next_run_at if active else row.next_slot,
        next_run_at=plan.next_run_at,
        next_source=plan.source.value,
        fingerprint=fingerprint if active else row.fingerprint,  # its slots are still those of the old schedule
        release_policy="",
        release_until=None,
    )
    return Claimed(state=state, runs=_superseded(row, state, now), replanned=row.fingerprint != state.fingerprint)


def _superseded(row: DueRow, state: NewState, now: datetime) -> tuple[NewRun, ...]:
    owed = row.next_slot
    if owed is None or owed > now or owed == state.next_slot:
        return ()
    skip = Skipped(span=Span(first=owed, last=owed, count=1), reason=Reason.SUPERSEDED)
    return (_skipped_run(row, skip, now)._replace(next_planned_for=state.next_slot),)


def _waiting_for_its_turn(row: DueRow) -> Claimed:
    """An ALL catch-up goes on when the active run's chain has ended: that sets `next_run_at` again."""
    state = _state_of(row)._replace(next_run_at=None, next_source=Source.CATCHING_UP.value)
    return Claimed(state=state)


def _fired(row: DueRow, firing: Firing, active: list[ActiveRun], now: datetime) -> Claimed:
    skipped, extend = _split_extension(row, firing)
    runs = [_skipped_run(row, skip, now) for skip in skipped]
    room = _Room(active)
    runs += [_admitted(row, _new_run(row, fire, now), room, now) for fire in firing.fire]
    runs = _superseded_by_newest(row, runs, now)
    runs.sort(key=lambda run: run.scheduled_for)
    following = [*(run.scheduled_for for run in runs), firing.next_slot][1:]  # without rows, nothing follows one
    runs = [run._replace(next_planned_for=slot) for run, slot in zip(runs, following, strict=True)]
    return Claimed(
        state=_moved_state(row, firing, runs),
        runs=tuple(runs),
        stop=tuple(room.stop),
        cancel=tuple(room.cancel),
        extend=extend,
        extended_row=row.open_skip if extend is not None else None,
    )


class _Room:
    """The routine's active runs while its due slots are admitted one after another."""

    def __init__(self, active: list[ActiveRun]) -> None:
        self.active = list(active)
        self.stop: list[UUID] = []
        self.cancel: list[UUID] = []

    def make(self, replace_them: Replace) -> None:
        self.stop += [run_id for run_id in replace_them.stop if isinstance(run_id, UUID)]
        self.cancel += [run_id for run_id in replace_them.cancel if isinstance(run_id, UUID)]
        self.active = [run for run in self.active if run.running]


def _admitted(row: DueRow, run: NewRun, room: _Room, now: datetime) -> NewRun:
    """The row as admission decides it: sent at once, held with a reason, or skipped."""
    candidate = Candidate(
        policy=ConcurrencyPolicy(row.concurrency_policy),
        fresh=True,
        eligible_at=run.eligible_at,
        replace_grace_ms=int(get_settings().replace_grace_seconds * 1000),
    )
    match admit(candidate, room.active, None, now):
        case Skip(reason):
            return run.ended(RunStatus.SKIPPED, reason, now)
        case Replace() as decision:
            room.make(decision)
            held = bool(room.active)  # what runs is asked to stop, and the new run waits until it has
            run = _held(run, Reason.REPLACING, now + LOOK_AGAIN) if held else run
        case Hold(reason):
            run = _held(run, reason, run.eligible_at if reason is Reason.NOT_YET else now + LOOK_AGAIN)
        case Publish():
            pass
    if row.concurrency_policy != ConcurrencyPolicy.ALLOW:
        room.active.append(ActiveRun(id=run.id, running=False))
    return run


def _held(run: NewRun, reason: Reason, look_at: datetime) -> NewRun:
    return run._replace(admitted_at=None, publish_after=look_at, reason=reason.value)


def _superseded_by_newest(row: DueRow, runs: list[NewRun], now: datetime) -> list[NewRun]:
    """REPLACE with several slots due at once: only the newest is worth sending."""
    if row.concurrency_policy != ConcurrencyPolicy.REPLACE:
        return runs
    pending = [run for run in runs if run.is_pending]
    older = {run.id for run in pending[:-1]}
    return [run.ended(RunStatus.CANCELLED, Reason.REPLACED, now) if run.id in older else run for run in runs]


def _new_run(row: DueRow, fire: Fire, now: datetime) -> NewRun:
    eligible_at = fire.slot
    if row.jitter_ms:
        eligible_at += timedelta(milliseconds=jitter_ms(str(row.routine_id), fire.slot, row.jitter_ms))
    # A pooled run joins its pool's queue, where only the pool's row lock may let it through.
    pooled = row.pool_id is not None
    return NewRun(
        id=new_run_id(),
        routine_id=row.routine_id,
        status=RunStatus.PENDING.value,
        reason=Reason.CEILING.value if pooled else "",
        trigger=_trigger_of(row, fire),
        source=row.next_source,
        task=row.task,
        queue=row.queue,
        timeout_ms=row.timeout_ms,
        pool_id=row.pool_id,
        scheduled_for=fire.slot,
        next_planned_for=None,
        eligible_at=eligible_at,
        admitted_at=None if pooled else now,
        publish_after=None if pooled else now + _seconds(get_settings().publish_retry_seconds),
        completed_at=None,
        idempotency_key=slot_key(row.routine_id, fire.slot, 1),
        scheduled_until=None,
        occurrences=1,
    )


def _trigger_of(row: DueRow, fire: Fire) -> str:
    if fire.missed:
        return RunTrigger.CATCH_UP.value
    return RunTrigger.HINT.value if row.next_source in _HINTS else RunTrigger.SCHEDULE.value


def _skipped_run(row: DueRow, skip: Skipped, now: datetime) -> NewRun:
    span = skip.span
    run = _new_run(row, Fire(slot=span.first, missed=False), now)
    reason = Reason.PAUSED if row.release_until is not None and skip.reason == Reason.MISFIRE else skip.reason
    until = span.last if span.count > 1 else None
    return run.ended(RunStatus.SKIPPED, reason, now)._replace(
        scheduled_until=until, occurrences=span.count, eligible_at=span.first
    )


def _split_extension(row: DueRow, firing: Firing) -> tuple[list[Skipped], Span | None]:
    """Misfires that continue a row which an earlier, unfinished claim began extend that row."""
    skipped = list(firing.skipped)
    if row.open_skip is None:
        return skipped, None
    for at, skip in enumerate(skipped):
        if skip.reason == Reason.MISFIRE:
            return skipped[:at] + skipped[at + 1 :], skip.span
    return skipped, None


def _moved_state(row: DueRow, firing: Firing, runs: list[NewRun]) -> NewState:
    released = row.release_until is not None and (firing.next_slot is None or firing.next_slot > row.release_until)
    return _state_of(row)._replace(
        last_slot=firing.last_slot,
        next_slot=firing.next_slot,
        next_run_at=firing.next_run_at,
        next_source=firing.source.value,
        hint_next_at=None if firing.uses_up_oneshot else row.hint_next_at,
        open_skip=_open_skip(row, firing, runs),
        release_policy="" if released else row.release_policy,
        release_until=None if released else row.release_until,
    )


def _open_skip(row: DueRow, firing: Firing, runs: list[NewRun]) -> UUID | None:
    if not firing.unfinished:
        return None
    begun = next((run.id for run in runs if run.status == RunStatus.SKIPPED and run.reason != Reason.OVERLAP), None)
    return row.open_skip or begun


def _state_of(row: DueRow) -> NewState:
    return NewState._make(_state_values(row))


def _grace(row: DueRow) -> timedelta:
    return timedelta() if row.release_until is not None else timedelta(milliseconds=row.misfire_grace_ms)


def _seconds(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
