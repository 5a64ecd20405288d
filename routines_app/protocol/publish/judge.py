"""Waiting rows: which of them may go, and why the others stay. Called with the rows locked, in their transaction."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from routines_app.conf import get_settings
from routines_app.coordination import wakeups
from routines_app.coordination.envelope import Message
from routines_app.core.admission import (
    LOOK_AGAIN,
    ActiveRun,
    Cancel,
    Candidate,
    Decision,
    Hold,
    Publish,
    Replace,
    Skip,
    admit,
)
from routines_app.core.expiry import is_expired
from routines_app.core.holding import HELD_AS
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus, RunTrigger
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import continue_after
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.overlap import active_runs, request_stop
from routines_app.protocol.end.unstarted import replace_pending
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.outcome import cancelled

logger = logging.getLogger(__name__)

_reported: set[int] = set()  # routines whose broken rows this process has told about

# Behind the next in line nobody needs to look: who is let through wakes the next, and this is for when that was lost.
LOOK_LATER = timedelta(seconds=30)


class WaitingRow(NamedTuple):
    """A waiting run and what admission needs to know about its routine."""

    id: UUID
    routine_id: int
    pool_id: int | None
    task: str
    queue: str
    timeout_ms: int
    trigger: str
    scheduled_for: datetime
    eligible_at: datetime
    name: str
    status: str
    priority: str
    policy: str
    expires_ms: int | None


WAITING_COLUMNS = (
    "id",
    "routine_id",
    "pool_id",
    "task",
    "queue",
    "timeout_ms",
    "trigger",
    "scheduled_for",
    "eligible_at",
    "routine__name",
    "routine__status",
    "routine__priority",
    "routine__concurrency_policy",
    "routine__expires_ms",
)


def judge(rows: Sequence[WaitingRow], now: datetime) -> list[Message]:
    """Decide each row, write what was decided, and return the messages of those that may go."""
    exclusive = {row.routine_id for row in rows if row.policy != ConcurrencyPolicy.ALLOW}
    outcome = _Outcome(now, active_runs(exclusive))
    for row in sorted(rows, key=lambda row: (row.scheduled_for, row.id)):
        outcome.decide(row)
    outcome.write()
    return [_message(row) for row in outcome.admitted]


class _Outcome:
    """Decisions gathered so that each kind is written in one statement."""

    def __init__(self, now: datetime, active: dict[int, list[ActiveRun]]) -> None:
        self.now = now
        self._active = {
            routine_id: {run.id: run for run in runs if isinstance(run.id, UUID)} for routine_id, runs in active.items()
        }
        self.admitted: list[WaitingRow] = []
        self.expired: list[WaitingRow] = []
        self._pooled: list[UUID] = []
        self._held: dict[tuple[Reason, datetime | None], list[UUID]] = defaultdict(list)
        self._stop: list[UUID] = []
        self._cancel: list[UUID] = []
        self._force: list[UUID] = []
        self._next_in_line: set[int] = set()
        self._let_one_through: set[int] = set()

    def decide(self, row: WaitingRow) -> None:
        """A row that cannot be decided, whatever plain SQL made of it, must not stop the others."""
        try:
            self._decide(row)
        except Exception:
            if row.routine_id not in _reported:
                _reported.add(row.routine_id)
                logger.exception("a waiting run of routine %s cannot be decided; it is looked at later", row.name)
            self._held[Reason.PUBLISH_FAILED, self.now + LOOK_LATER].append(row.id)

    def _decide(self, row: WaitingRow) -> None:
        if is_expired(row.trigger, row.scheduled_for, row.eligible_at, row.expires_ms, self.now):
            self.expired.append(row)
            self._forget(row.routine_id, row.id)
            return
        others = self._others_of(row)
        self._add(row, admit(_candidate(row), others, None, self.now), others)

    def _others_of(self, row: WaitingRow) -> list[ActiveRun]:
        """The ids tell which of two runs was created later."""
        active = self._active.get(row.routine_id, {})
        others = [run for run_id, run in active.items() if run_id != row.id]
        if row.policy != ConcurrencyPolicy.REPLACE:
            return others
        return [replace(run, newer=isinstance(run.id, UUID) and run.id > row.id) for run in others]

    def _add(self, row: WaitingRow, decision: Decision, others: Sequence[ActiveRun]) -> None:
        match decision:
            case Publish():
                self._let_through(row)
            case Hold(reason):
                self._hold(row, reason)
            case Skip(reason):
                self._hold(row, reason)
            case Cancel():
                self._drop(row.routine_id, [row.id])
            case Replace(stop=stop, cancel=cancel, force=force):
                self._stop += _ids(stop)
                self._drop(row.routine_id, _ids(cancel))
                self._force += _ids(force)
                if any(run.running and run.id not in force for run in others):
                    self._hold(row, Reason.REPLACING)
                else:
                    self._let_through(row)

    def write(self) -> None:
        self._make_room()
        _update(
            [row.id for row in self.admitted],
            admitted_at=self.now,
            publish_after=self.now + timedelta(seconds=get_settings().publish_retry_seconds),
            reason=Reason.NONE,
        )
        # Only the pool's row lock may let these through.
        _update(self._pooled, admitted_at=None, publish_after=None, reason=Reason.CEILING)
        for (reason, look_at), run_ids in self._held.items():
            _update(run_ids, admitted_at=None, publish_after=look_at, reason=reason)
        self._expire()
        _wake_next_in_line(self._let_one_through - self._next_in_line, self.now)

    def _hold(self, row: WaitingRow, reason: Reason) -> None:
        if row.id in self._active.get(row.routine_id, ()):
            self._note(row, sent=False)
        self._held[reason, self._look_at(row, reason)].append(row.id)

    def _drop(self, routine_id: int, run_ids: Sequence[UUID]) -> None:
        self._cancel += run_ids
        for run_id in run_ids:
            self._forget(routine_id, run_id)

    def _forget(self, routine_id: int, run_id: UUID) -> None:
        self._active.get(routine_id, {}).pop(run_id, None)

    def _note(self, row: WaitingRow, *, sent: bool) -> None:
        """What was decided counts for the rows after this one."""
        if row.policy != ConcurrencyPolicy.ALLOW:
            self._active.setdefault(row.routine_id, {})[row.id] = ActiveRun(id=row.id, running=False, sent=sent)

    def _let_through(self, row: WaitingRow) -> None:
        self._note(row, sent=True)
        if row.policy == ConcurrencyPolicy.FORBID:
            self._let_one_through.add(row.routine_id)
        if row.pool_id is None:
            self.admitted.append(row)
        else:
            self._pooled.append(row.id)

    def _look_at(self, row: WaitingRow, reason: Reason) -> datetime | None:
        if reason is Reason.PAUSED:
            return None  # the end of the pause sets it
        if reason is Reason.OVERLAP:
            return self._place_in_line(row.routine_id)
        return row.eligible_at if reason is Reason.NOT_YET else self.now + LOOK_AGAIN

    def _place_in_line(self, routine_id: int) -> datetime:
        """Of a routine's backlog only the next one is looked at often: the others cannot go before it anyway."""
        is_next = routine_id not in self._next_in_line
        self._next_in_line.add(routine_id)
        return self.now + (LOOK_AGAIN if is_next else LOOK_LATER)

    def _make_room(self) -> None:
        stop = self._stop
        request_stop(stop, Reason.REPLACED, self.now)
        replace_pending(self._cancel, self.now)
        if stop:
            on_commit(lambda: wakeups.stop_runs(stop))
        for run_id in self._force:
            # The grace is over and the old run has not ended. Its row ends here, under the state's lock; its body has
            # lost the row, can record nothing, and is stopped by its watchdog.
            close_run(run_id, cancelled(Reason.REPLACED))

    def _expire(self) -> None:
        if not self.expired:
            return
        ids = [row.id for row in self.expired]
        _update(ids, status=RunStatus.SKIPPED, reason=Reason.EXPIRED, completed_at=self.now, publish_after=None)
        tell(RoutineRun.objects.using(ledger_alias()).filter(id__in=ids).select_related("routine"))
        routine_ids = {row.routine_id for row in self.expired}
        # Afterwards, because the states would have to be locked before the runs.
        on_commit(partial(continue_after, routine_ids, self.now))


def _wake_next_in_line(routine_ids: Collection[int], now: datetime) -> None:
    """Have the oldest of what is held behind a run that was let through looked at often from now on."""
    runs = RoutineRun.objects.using(ledger_alias())
    held = runs.filter(status=RunStatus.PENDING, dispatched_at=None, reason=Reason.OVERLAP)
    for routine_id in sorted(routine_ids):
        line = held.filter(routine_id=routine_id, publish_after__gt=now + LOOK_AGAIN).order_by("scheduled_for", "id")
        _update(list(line.values_list("id", flat=True)[:1]), publish_after=now + LOOK_AGAIN)


def _candidate(row: WaitingRow) -> Candidate:
    return Candidate(
        policy=ConcurrencyPolicy(row.policy),
        fresh=False,
        eligible_at=row.eligible_at,
        routine_paused=row.status in HELD_AS,
        manual=row.trigger == RunTrigger.MANUAL,
        replace_grace_ms=int(get_settings().replace_grace_seconds * 1000),
    )


def _update(run_ids: Collection[UUID], **values: object) -> None:
    if run_ids:
        runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.PENDING)
        runs.update(**values)


def _ids(run_ids: Sequence[object]) -> list[UUID]:
    return [run_id for run_id in run_ids if isinstance(run_id, UUID)]


def _message(row: WaitingRow) -> Message:
    exclusive = 0 if row.policy == ConcurrencyPolicy.ALLOW else row.routine_id
    return Message(str(row.id), row.name, row.task, row.queue, row.priority, row.timeout_ms, exclusive)
