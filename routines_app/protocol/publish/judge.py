"""Waiting rows: which of them may go, and why the others stay. Called with the rows locked, in their transaction."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import Error

from routines_app.conf import get_settings
from routines_app.coordination.envelope import Message
from routines_app.core.admission import (
    LOOK_AGAIN,
    ActiveRun,
    Cancel,
    Candidate,
    Decision,
    Hold,
    Overtake,
    Publish,
    Replace,
    Skip,
    Standing,
    Supersede,
    admit,
    standing,
)
from routines_app.core.expiry import is_expired
from routines_app.core.holding import held_as
from routines_app.core.line import Place, place_of
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus, is_exclusive
from routines_app.models import RoutineRun
from routines_app.protocol.end.catch_up import continue_after
from routines_app.protocol.end.line import first_of_each, let_next_go
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs, blocked
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.locks import lock_runs, update_locked
from routines_app.protocol.publish.waiting_row import WaitingRow
from routines_app.protocol.record.events import tell
from routines_app.protocol.record.messages import message_of
from routines_app.protocol.record.waits import because
from routines_app.protocol.rotate.settle import settle_ended

logger = logging.getLogger(__name__)

_reported: set[int] = set()  # routines whose broken rows this process has told about

# Behind the next in line nobody needs to look: who is let through wakes the next, and this is for when that was lost.
LOOK_LATER = timedelta(seconds=30)


_TAKES_TURNS = frozenset({ConcurrencyPolicy.FORBID, ConcurrencyPolicy.QUEUE})


def judge(rows: Sequence[WaitingRow], now: datetime) -> list[Message]:
    """Decide each row, write what was decided, and return the messages of those that may go."""
    exclusive = {row.routine_id for row in rows if is_exclusive(row.policy)}
    verdicts = Verdicts(now, active_runs(exclusive))
    for row in in_order(rows):
        verdicts.decide(row)
    verdicts.write()
    return [_message(row) for row in verdicts.admitted]


def in_order(rows: Iterable[WaitingRow]) -> list[WaitingRow]:
    """The order in which rows that are looked at together are decided: what one may do, the next ones may not."""
    return sorted(rows, key=_turn)


def _turn(row: WaitingRow) -> tuple[int, datetime, UUID]:
    """By their slots, under QUEUE by their place in line."""
    turn = _place_of(row).turn if row.policy == ConcurrencyPolicy.QUEUE else 0
    return turn, row.scheduled_for, row.id


class Verdicts:
    """Decisions about many rows, gathered so that each kind is written in one statement.

    Nothing is written before `write`: whoever only wants to know what a look would decide leaves that out.
    """

    def __init__(self, now: datetime, active: dict[int, list[ActiveRun]]) -> None:
        self.now = now
        self._active = {routine_id: {run.id: run for run in runs} for routine_id, runs in active.items()}
        self.admitted: list[WaitingRow] = []
        self._skipped: dict[Reason, list[WaitingRow]] = defaultdict(list)
        self._standing: dict[Standing, list[UUID]] = defaultdict(list)
        self._stop: list[UUID] = []
        self._cancel: list[UUID] = []
        self._force: list[UUID] = []
        self._takers: dict[UUID, UUID] = {}
        self._next_in_line: set[int] = set()
        self._let_one_through: set[int] = set()

    def decide(self, row: WaitingRow) -> Decision:
        """What is decided. A row that cannot be, whatever plain SQL made of it, must not stop the others."""
        try:
            return self._decide(row)
        except Error:
            raise
        except Exception:
            if row.routine_id not in _reported:
                _reported.add(row.routine_id)
                logger.exception("a waiting run of routine %s cannot be decided; it is looked at later", row.name)
            self._standing[Standing(None, self.now + LOOK_LATER, Reason.PUBLISH_FAILED)].append(row.id)
            return Hold(Reason.PUBLISH_FAILED)

    def _decide(self, row: WaitingRow) -> Decision:
        if is_expired(row.trigger, row.scheduled_for, row.eligible_at, row.expires_ms, self.now):
            self._skip(row, Reason.EXPIRED)
            return Skip(Reason.EXPIRED)
        others = self._others_of(row)
        decision = admit(_candidate(row), others, self.now)
        match decision:
            case Publish() | Hold() as decided:
                self._stand(row, decided)
            case Cancel():
                self._make_way([row.id], max(other.id for other in others))
                self._drop(row.routine_id, [row.id])
            case Replace(stop=stop, cancel=cancel, force=force, then=then):
                self._make_way([*stop, *cancel], row.id)
                self._stop += stop
                self._drop(row.routine_id, cancel)
                self._force += force
                self._stand(row, then)
            case Skip(reason):
                self._make_way([row.id], max(other.place for other in others if other.place.is_slot).id)
                self._skip(row, reason)
            case Supersede() | Overtake():
                raise AssertionError("only a run that is being created stands for others, or goes before them")
        return decision

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
            self._active.setdefault(row.routine_id, {})[row.id] = ActiveRun(
                id=row.id,
                place=_place_of(row),
                running=False,
                sent=on_its_way,
                waits=decided == Hold(Reason.OVERLAP),
                held=_held_as(row) is not None,
            )
        if on_its_way and row.policy in _TAKES_TURNS:
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

    def _skip(self, row: WaitingRow, reason: Reason) -> None:
        self._skipped[reason].append(row)
        self._forget(row.routine_id, row.id)

    def _drop(self, routine_id: int, run_ids: Sequence[UUID]) -> None:
        self._cancel += run_ids
        for run_id in run_ids:
            self._forget(routine_id, run_id)

    def _make_way(self, run_ids: Sequence[UUID], taker: UUID) -> None:
        self._takers.update(dict.fromkeys(run_ids, taker))

    def _forget(self, routine_id: int, run_id: UUID) -> None:
        self._active.get(routine_id, {}).pop(run_id, None)

    def write(self) -> None:
        make_room(self.now, stop=self._stop, cancel=self._cancel, force=self._force, by=self._takers)
        for where, run_ids in self._standing.items():
            _update(
                run_ids,
                **because(where.reason, self.now),
                admitted_at=where.admitted_at,
                publish_after=where.publish_after,
                error="",  # why it could not be published, the last time
            )
        for reason, rows in self._skipped.items():
            self._end_skipped(rows, reason)
        _wake_next_in_line(self._let_one_through - self._next_in_line, self.now)

    def _end_skipped(self, rows: Sequence[WaitingRow], reason: Reason) -> None:
        ids = [row.id for row in rows]
        by = blocked(ids, self._takers)
        _update(ids, status=RunStatus.SKIPPED, reason=reason, completed_at=self.now, publish_after=None, **by)
        tell(RoutineRun.objects.using(ledger_alias()).filter(id__in=ids).select_related("routine"))
        settle_ended([(row.routine_id, row.rotation_id) for row in rows], self.now)
        let_next_go({row.routine_id for row in rows if row.policy == ConcurrencyPolicy.QUEUE}, self.now)
        # Afterwards, because the states would have to be locked before the runs.
        on_commit(partial(continue_after, {row.routine_id for row in rows}, self.now))


def _wake_next_in_line(routine_ids: Collection[int], now: datetime) -> None:
    """Have the first of what is held behind a run that was let through looked at often from now on."""
    runs = RoutineRun.objects.using(ledger_alias())
    held = runs.filter(status=RunStatus.PENDING, dispatched_at=None, reason=Reason.OVERLAP)
    if routine_ids:
        first = first_of_each(held.filter(publish_after__gt=now + LOOK_AGAIN), routine_ids)
        update_locked(lock_runs(held, first), publish_after=now + LOOK_AGAIN)


def _place_of(row: WaitingRow) -> Place:
    return place_of(row.trigger, row.scheduled_for, row.id)


def _held_as(row: WaitingRow) -> Reason | None:
    return held_as(row.status, row.requested_at)


def _candidate(row: WaitingRow) -> Candidate:
    return Candidate(
        policy=ConcurrencyPolicy(row.policy),
        fresh=False,
        place=_place_of(row),
        eligible_at=row.eligible_at,
        held=_held_as(row),
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
