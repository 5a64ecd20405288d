"""Execute: start the run, run its body inside the error boundary, finish it. Nothing raises into Celery.

In a child of the prefork pool the signals that end the process wait while the ledger is written: Start and Finish are
whole or not at all, and only the body can be cut short.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from types import FrameType
from typing import Any, TypeVar
from uuid import UUID, uuid4

from django.db import DataError, Error, close_old_connections, connections

from routines_app.conf import get_settings
from routines_app.core.words import Reason
from routines_app.execution.body import BodyEnd, bad_arguments, find_task, run_body, unknown_task
from routines_app.execution.call import Call
from routines_app.execution.heart import write_lines
from routines_app.execution.interrupts import MainThreadInterrupter, interrupter, is_pool_child, shield
from routines_app.execution.live import LiveRun
from routines_app.execution.place import own_place
from routines_app.execution.watchdog import watchdog
from routines_app.protocol.end.finish import Finish, Lost, finish
from routines_app.protocol.end.outlived import note_body_end
from routines_app.protocol.ledger.errors import Trouble, retrying_conflicts, trouble_of
from routines_app.protocol.record import events
from routines_app.protocol.record.outcome import Outcome, failed
from routines_app.protocol.record.texts import error_text, exception_names
from routines_app.protocol.run.start import Expired, NotOurs, Refused, Retired, RowHeld, Start, Started, start

logger = logging.getLogger(__name__)

T = TypeVar("T")

START_SECONDS = 30.0  # how long a message waits for a ledger that is away, before its run is left to a beat
FINISH_SECONDS = 45.0  # how long a finished body waits for a ledger that is away
LONGEST_PAUSE_SECONDS = 2.0
SHUTDOWN_SIGNAL = signal.SIGUSR2  # from the pool's parent: the worker shuts down, stop and let a new row take over


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The message that rang the run in."""

    run_id: UUID
    hostname: str
    exclusive: int | bool = False
    eager: bool = False
    request: dict[str, Any] = field(default_factory=dict)
    token: UUID = field(default_factory=uuid4)
    """Of this execution of the message: a start that was carried out without an answer is recognised by it."""

    @property
    def worker(self) -> str:
        return f"{self.hostname}:{os.getpid()}"[:255]


def execute(delivery: Delivery) -> str:
    """Execute the run if it is still to be executed; says in a word what happened."""
    if delivery.eager:
        return _execute(delivery)
    close_old_connections()
    with _shielded():
        return _execute(delivery)


def _execute(delivery: Delivery) -> str:
    try:
        begun = _start(delivery) if delivery.eager else _patiently(lambda _: _start(delivery), START_SECONDS)
    except Error as error:
        if delivery.eager:
            raise
        # Not an outage: the next try would be refused as well, and other runs wait for this place.
        logger.error("run %s could not be started: %r", delivery.run_id, error)
        return "refused"
    match begun:
        case None:
            # The run is PENDING still, or RUNNING without a heartbeat: a beat finds it either way.
            logger.error("run %s could not be started: the ledger is away", delivery.run_id)
            return "away"
        case Started(facts):
            live = LiveRun(facts, None if delivery.eager else interrupter(), time.monotonic())
            return _execute_started(delivery, live)
        case Refused(reason):
            return f"handed back: {reason}"
        case Expired():
            return "expired"
        case Retired():
            return "cancelled"
        case RowHeld():
            # A beat rings it in again when its row is free, and names it in its log meanwhile (`upkeep/locked.py`).
            return "held"
        case NotOurs():
            return "nothing to do"


def _start(delivery: Delivery) -> Start:
    return start(
        delivery.run_id,
        delivery.worker,
        exclusive=delivery.exclusive,
        lease=not delivery.eager,
        token=delivery.token,
        orphan_seconds=_allowed_silence(),
    )


def _allowed_silence() -> int | None:
    """A body that holds the interpreter's lock silences the heart; None where the pool's parent beats for it."""
    place = own_place()
    if place is not None and place.is_looked_after:
        return None
    return ceil(max(get_settings().orphan_seconds, get_settings().unguarded_orphan_seconds))


def _execute_started(delivery: Delivery, live: LiveRun) -> str:
    try:
        body_end = _run_guarded(delivery, live)
        recorded = _record(live, body_end.outcome, delivery.eager)
    finally:
        if not delivery.eager:
            watchdog().release(live)
    if body_end.leave is not None:
        raise body_end.leave
    return recorded


def _run_guarded(delivery: Delivery, live: LiveRun) -> BodyEnd:
    """Whatever goes wrong around a body is that run's failure: an exception in here would leave its row RUNNING."""
    try:
        if not delivery.eager:
            watchdog().watch(live)
        # Not before the watchdog knows the run: receivers may take their time, and heartbeats must not wait for them.
        events.run_started(live.facts)
        return _run(delivery, live)
    except Exception as error:
        logger.exception("run %s of %s failed outside of its body", live.facts.id, live.facts.routine_name)
        return BodyEnd(outcome=_failed("it failed outside of its body", error))


def _run(delivery: Delivery, live: LiveRun) -> BodyEnd:
    task = find_task(live.facts.task)
    if task is None:
        return BodyEnd(outcome=unknown_task(live.facts.task))
    call = Call(task=task, live=live, request=delivery.request)
    wrong = bad_arguments(call)
    if wrong is not None:
        return BodyEnd(outcome=wrong)
    body_end = run_body(call, exposed=_exposed())
    if _is_child_main():
        shield.up()  # once more: a signal at the body's last moment comes before the shield is up again
    if not delivery.eager:
        _drop_open_transactions()
    return body_end


def _record(live: LiveRun, outcome: Outcome, eager: bool) -> str:
    outcome = replace(outcome, progress=live.last_progress)
    body_ended = time.monotonic()
    if eager:
        ended: Finish | None = _finish(live, outcome, _no_lease, again=False)
    else:
        # The watchdog keeps heartbeat and lease going while this waits for the ledger.
        ended = _patiently(
            lambda again: _finish(live, outcome, live.give_lease_back, again), FINISH_SECONDS, whatever=True
        )
    if ended is None:
        _give_up(live, outcome)
        return "not recorded"
    if isinstance(ended, Lost):
        if not eager:
            live.give_lease_back()  # who ended it did so too, and then we may have renewed it once more
        note_body_end(live.id, time.monotonic() - body_ended)
        return "lost"
    return str(ended.status)


def _no_lease() -> None:
    """An eager run has none."""


def _finish(live: LiveRun, outcome: Outcome, give_back: Callable[[], None], again: bool) -> Finish:
    write_lines(live)
    try:
        return finish(live.facts, outcome, give_back=give_back, again=again)
    except DataError as error:
        # The database refuses a text: say so instead, and keep how the run ended.
        said = f"the ledger refused its texts: {error!r}"
        bare = replace(outcome, result=None, traceback="", progress=None, error=said, retry_args=None)
        return finish(live.facts, bare, give_back=give_back)
    except Error:
        raise
    except Exception as error:
        # Not the ledger but the outcome is at fault, so trying again would not help: record that.
        logger.exception("the end of run %s of %s cannot be written", live.facts.id, live.facts.routine_name)
        return finish(live.facts, _failed("its end could not be recorded", error), give_back=give_back)


def _failed(what: str, error: Exception) -> Outcome:
    said = f"{what}: {error_text(error, get_settings().max_error_chars)}"
    return failed(Reason.EXCEPTION, said, exception_names=exception_names(error))


def _patiently(act: Callable[[bool], T], seconds: float, *, whatever: bool = False) -> T | None:
    """Do it, and with the ledger away try again for a while; None when that was not enough.

    It is told whether it was tried before: nobody knows then whether that was carried out. A statement that the ledger
    refuses over a new connection too is raised, unless `whatever` it says is a reason to try again.
    """
    give_up_at = time.monotonic() + seconds
    pause, again = 0.1, False
    while True:
        try:
            return retrying_conflicts(partial(act, again))
        except Error as error:
            refused = trouble_of(error) in (Trouble.STATEMENT, Trouble.VALUE) and not whatever
            # Once more in any case: a body may have left the connection in a state that refuses everybody after it.
            connections.close_all()
            if refused and again:
                raise
            again = True
            if refused:
                continue
            if time.monotonic() >= give_up_at:
                logger.error("the ledger has been away for %g s: %s", seconds, error)
                return None
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _give_up(live: LiveRun, outcome: Outcome) -> None:
    logger.critical(
        "run %s of %s ended %s, which could not be recorded: it will be found orphaned",
        live.facts.id,
        live.facts.routine_name,
        outcome.status,
    )


def _drop_open_transactions() -> None:
    """A body that was cut short may have left a transaction open: what we write next must not become part of it."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block or (connection.connection is not None and not connection.get_autocommit()):
            connection.in_atomic_block = False
            connection.savepoint_ids.clear()
            connection.run_on_commit.clear()
            connection.needs_rollback = False
            connection.close()


# Shutdown signals in a child of the prefork pool


def _is_child_main() -> bool:
    return is_pool_child() and threading.current_thread() is threading.main_thread()


@contextmanager
def _shielded() -> Iterator[None]:
    if not _is_child_main():
        yield
        return
    MainThreadInterrupter.install()
    shield.wrap(signal.SIGTERM)
    shield.wrap(SHUTDOWN_SIGNAL, _interrupt_everything)
    shield.up()
    try:
        yield
    finally:
        shield.down()


@contextmanager
def _exposed() -> Iterator[None]:
    """Around the body: here the signals may do what they are for."""
    if not _is_child_main():
        yield
        return
    try:
        shield.down()
        yield
    finally:
        shield.up()


def _interrupt_everything(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    watchdog().interrupt_all()
