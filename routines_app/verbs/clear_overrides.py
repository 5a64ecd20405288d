"""Taking back what was asked for by hand and has not gone out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import Error
from django.db.models import Q, QuerySet

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import Held
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.end.unstarted import end_pending_of
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.database_errors import Trouble, trouble_of
from routines_app.protocol.ledger.locks import lock_free_states, lock_states
from routines_app.protocol.ledger.moments import readable
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.rules import Integer, moment
from routines_app.verbs.ending import who_and_why
from routines_app.verbs.held_rows import verb_transaction

CANCELLED_AT_ONCE = 500  # in one transaction: it holds the states of their routines
READ_AT_ONCE = 10_000
LIMIT = Integer(least=1, most=10_000)


def clear_overrides(
    pool: Pool | int | str | None = None,
    *,
    until: datetime | None = None,
    progress: Callable[[int], None] | None = None,
    actor: str = "",
    reason: str = "",
) -> int:
    """Cancel the requests by hand that wait in a pool, or anywhere, and were not sent; how many there were.

    Their retries that wait are requests too. What was sent, what runs and what nobody asked for stays as it is, and so
    does a request whose rows somebody holds for longer than a verb waits: it is not counted, and may be cleared later.
    `until` spares what was asked for after that. It is done in batches, and after each `progress` is told how many are
    cancelled so far; what it raises ends the clearing, and what was cancelled stays so.
    """
    said = who_and_why("cancelled", reason, actor)
    only = None if pool is None else find_pool(pool)
    now = clock.now()  # what is asked for from now on is not meant
    until = now if until is None else min(moment("until", until), now)
    clearing, cancelled = _Clearing(only, said), 0
    for batch in _batches(only, until):
        cancelled += clearing.cancel(batch)
        if progress is not None:
            progress(cancelled)
    return cancelled


class WaitingRequest(NamedTuple):
    """A request by hand that was not sent."""

    run_id: UUID
    name: str
    """The routine's."""
    requested_at: datetime
    requested_by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingRequests:
    """What `clear_overrides` would cancel."""

    count: int
    first: tuple[WaitingRequest, ...]
    """The first of them, in the order of the requests; what cannot be read is counted and not shown."""


def requests_to_clear(
    pool: Pool | int | str | None = None, *, until: datetime | None = None, limit: int = 25
) -> WaitingRequests:
    """What `clear_overrides` would cancel now, of which at most `limit` are shown. Reads only."""
    limit = LIMIT("limit", limit)
    only = None if pool is None else find_pool(pool)
    requests = _requests(only, clock.now() if until is None else moment("until", until))
    in_order = requests.filter(readable("requested_at")).order_by("requested_at", "id")
    columns = ("id", "routine__name", "requested_at", "requested_by")
    first = tuple(WaitingRequest._make(row) for row in in_order.values_list(*columns)[:limit])
    return WaitingRequests(count=requests.count(), first=first)


def _batches(only: Pool | None, until: datetime) -> Iterator[list[tuple[int, UUID]]]:
    """In the order of their routines, so that several batches lock the states in order."""
    requests, after, more = _requests(only, until).order_by("routine_id", "id"), Q(), True
    while more:
        found = list(requests.filter(after).values_list("routine_id", "id")[:READ_AT_ONCE])
        for at in range(0, len(found), CANCELLED_AT_ONCE):
            yield found[at : at + CANCELLED_AT_ONCE]
        if more := len(found) == READ_AT_ONCE:
            routine_id, run_id = found[-1]
            after = Q(routine_id__gt=routine_id) | Q(routine_id=routine_id, id__gt=run_id)


def _requests(only: Pool | None, until: datetime) -> QuerySet[RoutineRun]:
    waiting = RoutineRun.objects.using(ledger_alias()).filter(
        status=RunStatus.PENDING, dispatched_at=None, requested_at__lte=until
    )
    return waiting if only is None else waiting.filter(pool_id=only.pk)


class _Clearing:
    """Batch after batch, each committed by itself: what is held in one of them must not make the others an error."""

    def __init__(self, only: Pool | None, said: str) -> None:
        self._only = only
        self._said = said
        self._waits = True
        """For what somebody holds; who has waited for it once goes on without."""

    def cancel(self, batch: list[tuple[int, UUID]]) -> int:
        """Cancel those of the requests that nobody holds; how many."""
        if self._waits:
            try:
                return self._cancel(batch, lambda ids: [state.pk for state in lock_states(ids)])
            except (Held, Error) as error:
                _raise_unless_held(error)
                self._waits = False
        try:
            return self._cancel(batch, lock_free_states)
        except (Held, Error) as error:  # not a state but a run is held, or the database cannot skip what is locked
            _raise_unless_held(error)
            return 0

    def _cancel(self, batch: list[tuple[int, UUID]], lock: Callable[[set[int]], Collection[int]]) -> int:
        field, value = ("queue", "all") if self._only is None else ("pool", self._only.name)
        with verb_transaction(field, value):
            routine_ids = lock({routine_id for routine_id, _ in batch})
            now = clock.now()
            # Asked again behind the locks: one of them may have been sent meanwhile.
            still = _requests(self._only, now).filter(pk__in=[run_id for _, run_id in batch])
            cancelled = end_pending_of(
                routine_ids, list(still.values_list("pk", flat=True)), Reason.CANCELLED, now, self._said
            )
            on_commit(wake_beats)
        return cancelled


def _raise_unless_held(error: Exception) -> None:
    if isinstance(error, Error) and trouble_of(error) is not Trouble.LOCKED:
        raise error
