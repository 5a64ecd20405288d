"""What is due is claimed, let through and executed, here and now.

In place of a beat's look and a worker's message: the same claim, outbox and pools decide what goes, and the same
executor starts, runs and ends it, one run after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID, uuid4

from routines_app.coordination.envelope import Message
from routines_app.core.errors import NotAllowed
from routines_app.core.words import Reason, RunStatus
from routines_app.execution.executor import Delivery, execute
from routines_app.models import RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.claim.due import next_due_at
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.testing.commits import as_if_committed
from routines_app.testing.frozen import FrozenClock, aware, needed_clock, standing_clock

HOSTNAME = "testing"
MOST_RUNS = 1_000
MOST_STEPS = 2_000  # more than a day has minutes


def run_due(now: datetime | str | None = None, *, most: int = MOST_RUNS) -> list[RoutineRun]:
    """Run what is due at that instant; the runs that were started, in that order, as they are afterwards.

    Slots, retries whose time has come, what somebody asked for, what a rotation picks, and whatever becomes due at the
    same instant by an end. A frozen clock is moved to `now`; without one, time stands still for this call. More runs
    than `most` are refused: those that were run until then stay.
    """
    with _standing_at(now):
        return _started(_run_all(most))


def run_until(then: datetime | str, *, most: int = MOST_STEPS) -> list[RoutineRun]:
    """Let the time of the frozen clock pass until then, and run what is due at each planned moment on the way.

    Returns all runs that were started, in that order. More moments than `most` are refused: those until then are done.
    """
    frozen, end = needed_clock("run_until"), aware("then", then)
    if end < frozen.now():
        frozen.move_to(end)  # refuses it
    ran = run_due()
    for _ in range(most):
        moment = _next_moment(frozen.now())
        if moment is None or moment > end:
            frozen.move_to(max(end, frozen.now()))  # a body may have moved it further
            return ran
        frozen.move_to(moment)
        ran += run_due()
    at, last = frozen.now().isoformat(), end.isoformat()
    raise NotAllowed("most", most, f"after so many steps it is {at}, not yet {last}: let less time pass, or allow more")


@contextmanager
def _standing_at(now: datetime | str | None) -> Iterator[None]:
    standing = standing_clock()
    if standing is None:
        with FrozenClock(clock.now() if now is None else aware("now", now)):
            yield
        return
    if now is not None:
        standing.move_to(aware("now", now))
    yield


def _run_all(most: int) -> dict[UUID, UUID]:
    """Rounds, until one finds nothing new: an end lets others go. No run is tried twice at one instant.

    Each run that was tried, with the token of its start.
    """
    tried: dict[UUID, UUID] = {}
    while ready := [run_id for run_id in _let_through() if run_id not in tried]:
        for run_id in ready:
            if len(tried) >= most:
                raise NotAllowed("most", most, f"more runs than that are due at {clock.now().isoformat()}: allow more")
            tried[run_id] = uuid4()
            _execute(run_id, tried[run_id])
    return tried


def _let_through() -> list[UUID]:
    """What may start now, in the order in which a beat would send it."""
    now = clock.now()
    with as_if_committed():
        messages = []
        while (report := claim_due(now)).claimed:
            messages += report.messages
        messages += _dispatch_all(now)
        messages += admit_pools(now)
    sent = [UUID(message.run_id) for message in messages]
    return list(dict.fromkeys([*sent, *_unsent(now)]))


def _dispatch_all(now: datetime) -> list[Message]:
    """Batch after batch, as a beat's next looks would: one that holds all of its runs must not hide those behind it."""
    waiting = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at=None)
    messages: list[Message] = []
    left, before = waiting.filter(publish_after__lte=now).count(), None
    while left and left != before:
        messages += dispatch_waiting(now)
        left, before = waiting.filter(publish_after__lte=now).count(), left
    return messages


def _unsent(now: datetime) -> list[UUID]:
    """Runs that whoever asked for them would have sent after the commit."""
    waiting = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, admitted_at__isnull=False)
    return list(waiting.filter(eligible_at__lte=now).order_by("eligible_at", "id").values_list("id", flat=True))


def _execute(run_id: UUID, token: UUID) -> None:
    request = {"id": str(run_id), "is_eager": True, "delivery_info": {"is_eager": True}}
    with as_if_committed():
        execute(Delivery(run_id=run_id, hostname=HOSTNAME, eager=True, request=request, token=token))


def _started(tried: dict[UUID, UUID]) -> list[RoutineRun]:
    """Without those that a start has refused (handed back, expired, cancelled), or that a body's `run_due` started.

    The token is gone from a run that somebody else has ended while its body ran.
    """
    found = RoutineRun.objects.using(ledger_alias()).select_related("routine").in_bulk(list(tried))
    ours = (
        found[run_id]
        for run_id, token in tried.items()
        if run_id in found and found[run_id].start_token in (token, None)
    )
    return [run for run in ours if run.started_at is not None]


def _next_moment(now: datetime) -> datetime | None:
    """When there is something to do next. What waits behind a run is not asked for: the end of that lets it go."""
    waiting = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at=None)
    later = waiting.filter(publish_after__gt=now).exclude(reason=Reason.OVERLAP).order_by("publish_after")
    moments = [next_due_at(after=now), later.values_list("publish_after", flat=True).first()]
    return min((moment for moment in moments if moment is not None), default=None)
