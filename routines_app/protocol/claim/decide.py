"""What a claim does with one due routine: the rows it writes and the state it leaves. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from operator import itemgetter
from uuid import UUID

from routines_app.conf import get_settings
from routines_app.core.admission import (
    ActiveRun,
    Cancel,
    Candidate,
    Hold,
    Overtake,
    Publish,
    Replace,
    Skip,
    Supersede,
    admit,
    in_the_way,
    standing,
)
from routines_app.core.catch_up import CatchUp
from routines_app.core.firing import Firing, decide_claim
from routines_app.core.governor import expired_hints
from routines_app.core.line import Place, place_of
from routines_app.core.owed import Due, Skipped
from routines_app.core.triggers import Span
from routines_app.core.words import (
    CatchUpPolicy,
    ConcurrencyPolicy,
    HintKind,
    Reason,
    RoutineStatus,
    RunStatus,
    Source,
    is_exclusive,
)
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.due import DueRow, NewState
from routines_app.protocol.claim.new_runs import NewRun, new_run, skipped_run
from routines_app.protocol.plan.planning import anchor_of, fingerprint_of, plan_from_now, plan_state, slot_source_of

_state_values = itemgetter(*(DueRow._fields.index(field) for field in NewState._fields))


FiringOf = Callable[[DueRow, datetime], Firing]


def needs_active_runs(row: DueRow, now: datetime) -> bool:
    """Overlap matters for exclusive routines, and while an ALL catch-up goes through one slot after another.

    In shadow nothing is sent, so nothing can overlap.
    """
    if row.shadow:
        return False
    if is_exclusive(row.concurrency_policy):
        return True
    catches_all = CatchUpPolicy.ALL in (row.catch_up_policy, row.release_policy)
    return catches_all and row.next_slot is not None and row.next_slot < now - _grace(row)


def decide(row: DueRow, active: list[ActiveRun], now: datetime, firing_of: FiringOf) -> Claimed:
    """Decide what is due; `firing_of` says what fires. Raises whatever a broken schedule raises."""
    fingerprint = fingerprint_of(row)
    if row.status != RoutineStatus.ACTIVE or row.next_slot is None or row.fingerprint != fingerprint:
        return _replanned(row, fingerprint, now)
    firing = firing_of(row, row.next_slot)
    if row.shadow:
        return _fired(row, _without_a_chain(firing), [], now)
    if firing.sequential and active:
        return _waiting_for_its_turn(row)
    return _fired(row, firing, active, now)


def firing_of(row: DueRow, next_slot: datetime, now: datetime) -> Firing:
    """What fires and what is skipped of the slots that are due, by the schedule alone."""
    due = Due(
        plan=plan_state(row, row),
        rule=_rule(row),
        last_slot=anchor_of(row, row),
        next_slot=next_slot,
        source=slot_source_of(row, row),
    )
    # Slots of a pause that is being released are accounted for by themselves, as of its end.
    return decide_claim(due, now if row.release_until is None else min(now, row.release_until))


def _rule(row: DueRow) -> CatchUp:
    rule = CatchUp(
        policy=CatchUpPolicy(row.release_policy or row.catch_up_policy),
        grace_ms=row.misfire_grace_ms,
        window_ms=row.catch_up_window_ms,
        limit=row.catch_up_limit,
    )
    # What a pause held back is released as a whole: no grace, and no window that the pause itself has used up.
    return replace(rule, grace_ms=0, window_ms=None) if row.release_until is not None else rule


def _replanned(row: DueRow, fingerprint: str, now: datetime) -> Claimed:
    """The schedule was changed behind the service's back (plain SQL, `.update()`): plan anew, from now.

    Of the slots that the old schedule still owed, only the planned one is known: it is in the ledger as superseded.
    """
    anchor, plan = plan_from_now(row, row, now, changed=True)
    active = row.status == RoutineStatus.ACTIVE
    state = _state_of(row)._replace(
        last_slot=anchor,
        next_slot=plan.next_run_at if active else row.next_slot,
        slot_source=plan.slot_source if active else row.slot_source,
        next_run_at=plan.next_run_at,
        next_source=plan.source.value,
        fingerprint=fingerprint if active else row.fingerprint,  # its slots are still those of the old schedule
        release_policy="",
        release_until=None,
    )
    plan_of = plan_state(row, row)
    expired = expired_hints(plan_of, now) if active else ()
    return Claimed(
        state=state,
        runs=_superseded(row, state, now),
        replanned=row.fingerprint != state.fingerprint,
        drops=expired,
        expired=expired,
    )


def _superseded(row: DueRow, state: NewState, now: datetime) -> tuple[NewRun, ...]:
    owed = row.next_slot
    if owed is None or owed > now or owed == state.next_slot:
        return ()
    skip = Skipped(span=Span(first=owed, last=owed, count=1), reason=Reason.SUPERSEDED)
    return (skipped_run(row, skip, now)._replace(next_planned_for=state.next_slot),)


def _waiting_for_its_turn(row: DueRow) -> Claimed:
    """An ALL catch-up goes on when the active run's chain has ended: that sets `next_run_at` again."""
    state = _state_of(row)._replace(next_run_at=None, next_source=Source.CATCHING_UP.value)
    return Claimed(state=state)


def _without_a_chain(firing: Firing) -> Firing:
    """In shadow an ALL catch-up has no chain whose end would set `next_run_at`: the next claim goes on at once."""
    if not firing.sequential:
        return firing
    return replace(firing, next_run_at=firing.next_slot, source=firing.slot_source or firing.source)


def _fired(row: DueRow, firing: Firing, active: list[ActiveRun], now: datetime) -> Claimed:
    runs = [skipped_run(row, skip, now) for skip in firing.skipped]
    admission = _Admission(row, active, now)
    runs += [admission.admit(new_run(row, fire)) for fire in firing.fire]
    runs = admission.without_superseded(_superseded_by_newest(row, runs, now))
    runs.sort(key=lambda run: run.scheduled_for)
    following = [*(run.scheduled_for for run in runs), firing.next_slot][1:]  # without rows, nothing follows one
    runs = [run._replace(next_planned_for=slot) for run, slot in zip(runs, following, strict=True)]
    return Claimed(
        state=_moved_state(row, firing),
        runs=tuple(runs),
        stop=tuple(admission.stop),
        cancel=tuple(admission.cancel),
        supersede=tuple(admission.superseded.difference(run.id for run in runs)),
        drops=(*firing.expired, *([HintKind.NEXT] if firing.uses_up_oneshot else [])),
        expired=firing.expired,
        moved=not runs and firing.next_slot != row.next_slot,
    )


class _Admission:
    """The routine's active runs while its due slots are admitted one after another."""

    def __init__(self, row: DueRow, active: list[ActiveRun], now: datetime) -> None:
        self._row = row
        self._now = now
        self._active = list(active)
        self.stop: list[UUID] = []
        self.cancel: list[UUID] = []
        self.superseded: set[UUID] = set()

    def admit(self, run: NewRun) -> NewRun:
        """The row as admission decides it: sent at once, held with a reason, or skipped.

        In shadow an old scheduler has sent it, or will: the row says that it would have gone.
        """
        if self._row.shadow:
            return run.ended(RunStatus.SKIPPED, Reason.SHADOW, self._now)
        match admit(self._candidate(run), self._active, self._now):
            case Skip(reason):
                return run.ended(RunStatus.SKIPPED, reason, self._now, by=in_the_way(self._active))
            case Cancel(reason):
                return run.ended(RunStatus.CANCELLED, reason, self._now, by=in_the_way(self._active))
            case Replace(then=then) as making_room:
                self._make_room(making_room)
                run = self._standing(run, then)
            case Supersede(waiting, then):
                self.superseded.update(waiting)
                self._active = [other for other in self._active if other.id not in waiting]
                run = self._standing(run, then)
            case Publish() | Hold() as decided:
                run = self._standing(run, decided)
            case Overtake():
                raise AssertionError("only a request goes before others")
        if is_exclusive(self._row.concurrency_policy):
            waits = run.reason == Reason.OVERLAP
            self._active.append(ActiveRun(id=run.id, place=_place_of(run), running=False, waits=waits))
        return run

    def without_superseded(self, runs: list[NewRun]) -> list[NewRun]:
        """QUEUE with several slots due at once: of those that would wait, the newest does."""
        newest = next((run.id for run in reversed(runs) if run.is_pending and run.id not in self.superseded), None)
        return [
            run.ended(RunStatus.SKIPPED, Reason.SUPERSEDED, self._now, by=newest) if run.id in self.superseded else run
            for run in runs
        ]

    def _candidate(self, run: NewRun) -> Candidate:
        return Candidate(
            policy=ConcurrencyPolicy(self._row.concurrency_policy),
            fresh=True,
            place=_place_of(run),
            eligible_at=run.eligible_at,
            pooled=run.pool_id is not None,
            replace_grace=_seconds(get_settings().replace_grace_seconds),
        )

    def _make_room(self, decision: Replace) -> None:
        self.stop += decision.stop
        self.cancel += decision.cancel
        self._active = [run for run in self._active if run.running]

    def _standing(self, run: NewRun, decided: Publish | Hold) -> NewRun:
        retry = _seconds(get_settings().publish_retry_seconds)
        where = standing(decided, eligible_at=run.eligible_at, now=self._now, publish_retry=retry)
        return run.standing(where, self._now)


def _place_of(run: NewRun) -> Place:
    return place_of(run.trigger, run.scheduled_for, run.id)


def _superseded_by_newest(row: DueRow, runs: list[NewRun], now: datetime) -> list[NewRun]:
    """REPLACE with several slots due at once: only the newest is worth sending."""
    if row.concurrency_policy != ConcurrencyPolicy.REPLACE:
        return runs
    pending = [run.id for run in runs if run.is_pending]
    older = set(pending[:-1])
    return [
        run.ended(RunStatus.CANCELLED, Reason.REPLACED, now, by=pending[-1]) if run.id in older else run for run in runs
    ]


def _moved_state(row: DueRow, firing: Firing) -> NewState:
    released = row.release_until is not None and (firing.next_slot is None or firing.next_slot > row.release_until)
    return _state_of(row)._replace(
        last_slot=firing.last_slot,
        next_slot=firing.next_slot,
        slot_source="" if firing.slot_source is None else firing.slot_source.value,
        next_run_at=firing.next_run_at,
        next_source=firing.source.value,
        clamps_from=firing.clamps_from,
        release_policy="" if released else row.release_policy,
        release_until=None if released else row.release_until,
    )


def _state_of(row: DueRow) -> NewState:
    return NewState._make(_state_values(row))


def _grace(row: DueRow) -> timedelta:
    return timedelta() if row.release_until is not None else timedelta(milliseconds=row.misfire_grace_ms)


def _seconds(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
