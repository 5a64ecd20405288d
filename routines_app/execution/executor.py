"""Execute: start the run, let Celery trace its task, and say what Celery is to report.

Nothing raises into Celery, but what ends the process. Whatever happens, a run that was started here is ended here.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from billiard.einfo import ExceptionInfo
from celery import current_app, states
from celery.app.task import Task
from celery.app.trace import TraceInfo, trace_ok_t
from celery.exceptions import Ignore, NotRegistered
from django.db import Error, close_old_connections

from routines_app.conf import get_settings
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import outcomes
from routines_app.execution.body import Body, RunFailed, ends_process
from routines_app.execution.exposure import shielded
from routines_app.execution.fixup import keep_connections_open
from routines_app.execution.interrupts import interrupter
from routines_app.execution.live import LiveRun
from routines_app.execution.place import own_place
from routines_app.execution.recording import end, patiently, word_for
from routines_app.execution.time_limits import allowed
from routines_app.execution.tracing import trace_body
from routines_app.execution.watchdog import watchdog
from routines_app.protocol.record import events
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome, cancelled
from routines_app.protocol.record.texts import error_text
from routines_app.protocol.run.start import Expired, NotOurs, Refused, Retired, RowHeld, Start, Started, start

logger = logging.getLogger(__name__)

START_SECONDS = 30.0  # how long a message waits for a ledger that is away, before its run is left to a beat


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


class Executed(NamedTuple):
    """What became of a message."""

    said: str
    """In a word."""
    traced: Any
    """What Celery's tracers return: value, state and error, runtime, text."""


def execute(delivery: Delivery) -> Executed:
    """Execute the run if it is still to be executed."""
    if delivery.eager:
        return _execute(delivery)
    keep_connections_open()
    close_old_connections()
    with shielded():
        return _execute(delivery)


def nothing(said: str) -> Executed:
    """Neither a success nor a failure: the message is acknowledged, and no event is sent."""
    try:
        raise Ignore(said)
    except Ignore as error:
        return Executed(said, trace_ok_t(ExceptionInfo(internal=True), TraceInfo(states.IGNORED, error), 0.0, None))


def _failure(said: str, reported: Exception) -> Executed:
    try:
        raise reported
    except Exception as error:  # noqa: BLE001 - the very one
        info = ExceptionInfo()
        info.exception = error  # as Celery's tracers leave it, for events that show it
        return Executed(said, trace_ok_t(info, TraceInfo(states.FAILURE, error), 0.0, None))


def _execute(delivery: Delivery) -> Executed:
    try:
        begun = _start(delivery) if delivery.eager else patiently(lambda _: _start(delivery), START_SECONDS)
    except Error as error:
        if delivery.eager:
            raise
        # Not an outage: the next try would be refused as well, and other runs wait for this place.
        logger.error("run %s could not be started: %r", delivery.run_id, error)
        return nothing("refused")
    match begun:
        case None:
            # The run is PENDING still, or RUNNING without a heartbeat: a beat finds it either way.
            logger.error("run %s could not be started: the ledger is away", delivery.run_id)
            return nothing("away")
        case Started(facts):
            return _execute_started(delivery, facts)
        case Refused(reason):
            return nothing(f"handed back: {reason}")
        case Expired():
            return nothing("expired")
        case Retired():
            return nothing("cancelled")
        case RowHeld():
            # A beat rings it in again when its row is free, and names it in its log meanwhile (`upkeep/locked.py`).
            return nothing("held")
        case NotOurs():
            return nothing("nothing to do")


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


def find_task(name: str) -> Task[..., Any] | None:
    """The registered task; in a web process (eager mode) the task modules may not have been imported yet."""
    if name not in current_app.tasks:
        current_app.loader.import_default_modules()
    return current_app.tasks.get(name)


def _execute_started(delivery: Delivery, facts: RunFacts) -> Executed:
    interrupts, began = None if delivery.eager else interrupter(), time.monotonic()
    try:
        task = find_task(facts.task)
        live = LiveRun(facts, interrupts, began, allowed(facts.timeout_ms, task))
    except Exception as error:  # noqa: BLE001 - a module that cannot be imported, a limit that is none
        return _stumbled(delivery, LiveRun(facts, interrupts, began), None, error)
    body = None if task is None else Body(task, live, eager=delivery.eager)
    try:
        return _run_guarded(delivery, live, body)
    finally:
        if not delivery.eager:
            watchdog().release(live)


def _run_guarded(delivery: Delivery, live: LiveRun, body: Body | None) -> Executed:
    """Whatever goes wrong around a body is that run's failure: an exception in here would leave its row RUNNING."""
    try:
        if not delivery.eager:
            watchdog().watch(live)
        # Not before the watchdog knows the run: receivers may take their time, and heartbeats must not wait for them.
        events.run_started(live.facts)
        return _trace(delivery, live, body)
    except BaseException as caught:  # noqa: BLE001 - the error boundary
        error = caught
    return _stumbled(delivery, live, body, error)


def _trace(delivery: Delivery, live: LiveRun, body: Body | None) -> Executed:
    if body is None:
        return _refused(delivery, live, outcomes.unknown_task(live.facts.task), NotRegistered(live.facts.task))
    wrong = outcomes.no_arguments(live.facts)
    if wrong is not None:
        return _refused(delivery, live, wrong, RunFailed(wrong.error))
    traced = trace_body(body, delivery.request, eager=delivery.eager)
    if not body.said:  # the tracer has not come to it: the worker's loader has failed
        body.end(outcomes.of_error(traced.info.retval, live))
    return Executed(body.said, traced)


def _refused(delivery: Delivery, live: LiveRun, outcome: Outcome, error: Exception) -> Executed:
    return _failure(word_for(end(live, outcome, eager=delivery.eager)), error)


def _stumbled(delivery: Delivery, live: LiveRun, body: Body | None, error: BaseException) -> Executed:
    """Something around the body went wrong, or this process is to end."""
    leaves, said = ends_process(error), body.said if body is not None else ""
    text = error_text(error, get_settings().max_error_chars)
    if not said and not leaves:
        which = (live.id, live.facts.routine_name)
        logger.error("run %s of %s failed outside of its body", *which, exc_info=error)
    if not said:
        outcome = outcomes.outside_of_body("it failed outside of its body", error)
        said = word_for(end(live, cancelled(Reason.INTERRUPTED) if leaves else outcome, eager=delivery.eager))
    elif not leaves:
        logger.error("run %s ended %s, which Celery cannot report: %s", live.id, said, text)
    if leaves:
        raise error
    return _failure(said, RunFailed(text)) if said == RunStatus.FAILED else nothing(said)
