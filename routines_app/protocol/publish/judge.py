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

from django.db import Error

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.admission import (
    LOOK_AGAIN,
    ActiveRun,
    Cancel,
    Candidate,
    Hold,
    Publish,
    Replace,
    Skip,
    Standing,
    admit,
    standing,
)
from routines_app.core.expiry import is_expired
from routines_app.core.holding import held_as
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus, is_exclusive
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import continue_after
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.messages import SHOWN_COLUMNS, message_of

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
    timeout_ms: int | None
    trigger: str
    scheduled_for: datetime
    eligible_at: datetime
    name: str
    status: str
    priority: str
    policy: str
    expires_ms: int | None
    args: str | None
    kwargs: str | None
    options: str | None


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
    *SHOWN_COLUMNS,
)


def judge(rows: Sequence[WaitingRow], now: datetime) -> list[Message]:
    """Decide each row, write what was decided, and return the messages of those that may go."""
    exclusive = {row.routine_id for row in rows if is_exclusive(row.policy)}
    verdicts = _Verdicts(now, active_runs(exclusive))
    for row in sorted(rows, key=lambda row: (row.scheduled_for, row.id)):
        verdicts.decide(row)
    verdicts.write()
    return [_message(row) for row in verdicts.admitted]


class _Verdicts:
    """Decisions about many rows, gathered so that each kind is written in one statement."""

    def __init__(self, now: datetime, active: dict[int, list[ActiveRun]]) -> None:
        self.now = now
        self._active = {routine_id: {run.id: run for run in runs} for routine_id, runs in active.items()}
        self.admitted: list[WaitingRow] = []
        self._expired: list[WaitingRow] = []
        self._standing: dict[Standing, list[UUID]] = defaultdict(list)
        self._stop: list[UUID] = []
        self._cancel: list[UUID] = []
        self._force: list[UUID] = []
        self._next_in_line: set[int] = set()
        self._let_one_through: set[int] = set()

    def decide(self, row: WaitingRow) -> None:
        """A row that cannot be decided, whatever plain SQL made of it, must not stop the others."""
        try:
            self._decide(row)
        except Error:
            raise
        except Exception:
            if row.routine_id not in _reported:
                _reported.add(row.routine_id)
                logger.exception("a waiting run of routine %s cannot be decided; it is looked at later", row.name)
            self._standing[Standing(None, self.now + LOOK_LATER, Reason.PUBLISH_FAILED)].append(row.id)

    def _decide(self, row: WaitingRow) -> None:
        if is_expired(row.trigger, row.scheduled_for, row.eligible_at, row.expires_ms, self.now):
            self._expired.append(row)
            self._forget(row.routine_id, row.id)
            return
        match admit(_candidate(row), self._others_of(row), self.now):
            case Publish() | Hold() as decided:
                self._stand(row, decided)
            case Cancel():
                self._drop(row.routine_id, [row.id])
            case Replace(stop=stop, cancel=cancel, force=force, then=then):
                self._stop += stop
                self._drop(row.routine_id, cancel)
                self._force += force
                self._stand(row, then)
            case Skip():
                raise AssertionError("only a run that is being created can be skipped for overlap")

    def _others_of(self, row: WaitingRow) -> list[ActiveRun]:
        """The ids tell which of two runs was created later."""
        active = self._active.get(row.routine_id, {})
        others = [run for run_id, run in active.items() if run_id != row.id]
        if row.policy != ConcurrencyPolicy.REPLACE:
            return others
        return [replace(run, newer=run.id > row.id) for run in others]

    def _stand(self, row: WaitingRow, decided: Publish | Hold) -> None:
        """Let the row go, or hold it; what was decided counts for the rows after this one."""
        goes = decided == Publish()
        on_its_way = goes or decided == Hold(Reason.CEILING)
        if is_exclusive(row.policy) and (on_its_way or row.id in self._active.get(row.routine_id, ())):
            waiting = ActiveRun(id=row.id, running=False, sent=on_its_way)
            self._active.setdefault(row.routine_id, {})[row.id] = waiting
        if on_its_way and row.policy == ConcurrencyPolicy.FORBID:
            self._let_one_through.add(row.routine_id)
        if goes:
            self.admitted.append(row)
        self._standing[self._where(row, decided)].append(row.id)

    def _where(self, row: WaitingRow, decided: Publish | Hold) -> Standing:
        retry = timedelta(seconds=get_settings().publish_retry_seconds)
        where = standing(decided, eligible_at=row.eligible_at, now=self.now, publish_retry=retry)
        if where.reason is not Reason.OVERLAP:
            return where
        # Of a routine's backlog only the next one is looked at often: the others cannot go before it anyway.
        is_next = row.routine_id not in self._next_in_line
        self._next_in_line.add(row.routine_id)
        return where if is_next else where._replace(publish_after=self.now + LOOK_LATER)

    def _drop(self, routine_id: int, run_ids: Sequence[UUID]) -> None:
        self._cancel += run_ids
        for run_id in run_ids:
            self._forget(routine_id, run_id)

    def _forget(self, routine_id: int, run_id: UUID) -> None:
        self._active.get(routine_id, {}).pop(run_id, None)

    def write(self) -> None:
        make_room(self.now, stop=self._stop, cancel=self._cancel, force=self._force)
        for where, run_ids in self._standing.items():
            _update(run_ids, **where._asdict(), error="")  # why it could not be published, the last time
        self._expire()
        _wake_next_in_line(self._let_one_through - self._next_in_line, self.now)

    def _expire(self) -> None:
        if not self._expired:
            return
        ids = [row.id for row in self._expired]
        _update(ids, status=RunStatus.SKIPPED, reason=Reason.EXPIRED, completed_at=self.now, publish_after=None)
        tell(RoutineRun.objects.using(ledger_alias()).filter(id__in=ids).select_related("routine"))
        routine_ids = {row.routine_id for row in self._expired}
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
        held=held_as(row.status, row.trigger),
        pooled=row.pool_id is not None,
        replace_grace=timedelta(seconds=get_settings().replace_grace_seconds),
    )


def _update(run_ids: Collection[UUID], **values: object) -> None:
    if run_ids:
        runs = RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids, status=RunStatus.PENDING)
        runs.update(**values)


def _message(row: WaitingRow) -> Message:
    return message_of(
        row.id,
        row.name,
        row.task,
        row.queue,
        row.priority,
        row.timeout_ms,
        row.policy,
        row.routine_id,
        row.args,
        row.kwargs,
        row.options,
    )
