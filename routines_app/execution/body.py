"""The body of a run: the user's code, which Celery's own tracer calls through here.

This, and the task's `before_start`, is the only part of a run that may be interrupted. Whatever happens in it becomes
an outcome, and the outcome goes to the ledger at once, before the tracer calls any other handler or receiver: one that
hangs, dies or raises loses nothing. Then the tracer is given what the ledger says: the value, the error, or that there
is nothing to tell.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from billiard import common as billiard_common
from celery.app.task import Task
from celery.exceptions import Ignore, Reject, Retry, SoftTimeLimitExceeded, WorkerShutdown, WorkerTerminate

from routines_app.core.words import Reason, RunStatus
from routines_app.execution import outcomes, retries
from routines_app.execution.exposure import exposed, lower_shield, shield_again
from routines_app.execution.forked import leave_if_forked
from routines_app.execution.live import LiveRun
from routines_app.execution.recording import drop_open_transactions, end, word_for
from routines_app.execution.stops import Stop, Stopped, interruption
from routines_app.protocol.end.finish import Finish, Lost
from routines_app.protocol.record.outcome import Outcome, cancelled

logger = logging.getLogger(__name__)

# Not failures to Celery; and what a worker's main process takes for its own.
_UNTOLD = (Retry, Ignore, MemoryError)


class RunFailed(Exception):
    """A run has failed by something that Celery would not report as a failure."""


@dataclass
class Ended:
    """How the body ended: with a value, or with an error; `leave` must go on to end this process."""

    outcome: Outcome
    value: Any = None
    error: BaseException | None = None
    leave: BaseException | None = None


class Body:
    """Of one run."""

    def __init__(self, task: Task[..., Any], live: LiveRun, *, eager: bool) -> None:
        self.task = task
        self.live = live
        self.own = retries.OwnRetry()
        self.said = ""
        """In a word how the run ended; empty while it has not."""
        self._eager = eager
        self._returned = False
        self._value: Any = None

    def prepare(self, call: Callable[[], Any]) -> None:
        """Call the task's `before_start`. One that raises, or is stopped, has ended the run: as in `run`."""
        error = self._in_window(call)
        if error is not None:
            self._close(self._end_of_error(error))

    def run(self, call: Callable[[], Any]) -> Any:
        """Call the task's own code, and record how it ended. Returns or raises what Celery is to report."""
        misfit = self.own.refused = outcomes.misfit(self.task, self.live.facts)
        error = self._in_window(lambda: self._call(call))
        ended = self._end_of_return() if error is None else self._end_of_error(error)
        if misfit is not None and isinstance(ended.error, TypeError):
            # Python has refused to call it: the next time would be the same.
            ended.outcome = replace(ended.outcome, reason=Reason.BAD_ARGUMENTS, retryable=False)
        return self._close(ended)

    def _close(self, ended: Ended) -> Any:
        finish = self.end(ended.outcome)
        lower_shield()  # a handler that hangs must not keep its process from a shutdown
        return self._told(ended, finish)

    def end(self, outcome: Outcome) -> Finish | None:
        """Record how the run ended."""
        ended = end(self.live, outcome, eager=self._eager)
        self.said = word_for(ended)
        return ended

    # The window that may be interrupted

    def _in_window(self, call: Callable[[], Any]) -> BaseException | None:
        """What it has raised, or was interrupted by."""
        live = self.live
        try:
            try:
                live.enter_body()
                with exposed():
                    call()
            finally:
                if live.is_ours:
                    live.leave_body()
        except BaseException as error:  # noqa: BLE001 - the error boundary
            leave_if_forked(live, error)
            # Once more: an interrupt may have come while the body was being left. There is only ever one.
            live.leave_body()
            self._be_left()
            return error
        leave_if_forked(live)
        self._be_left()
        return None

    def _call(self, call: Callable[[], Any]) -> None:
        if self.live.stop is not None:  # `before_start` has had the interrupt, and kept it to itself
            raise interruption(self.live.stop)
        self._value = call()
        with self.live.lock:
            self._returned = self._in_time

    @property
    def _in_time(self) -> bool:
        """It has not been asked to stop; or only because of its time-out, and has used its grace to clean up."""
        live = self.live
        return live.stop is None or (live.stop is Stop.TIMEOUT and not live.is_over_grace(time.monotonic()))

    def _be_left(self) -> None:
        shield_again()
        if not self._eager:
            drop_open_transactions()

    # From what happened to an outcome

    def _end_of_return(self) -> Ended:
        stopped = None if self._returned else outcomes.stopped(self.live)
        if stopped is not None:
            return Ended(stopped)
        if self.own.asked is not None:  # with throw=False: that it goes on counts, not what it returns meanwhile
            return Ended(outcomes.of_retry(self.own.asked, self.live.facts), error=self.own.asked)
        return Ended(outcomes.success(self.task, self._value), value=self._value)

    def _end_of_error(self, error: BaseException) -> Ended:
        leave = error if ends_process(error) else None
        if self._returned:  # it was left for good, and interrupted on its way out
            return replace(self._end_of_return(), leave=leave)
        if leave is not None and time.monotonic() >= self.live.deadline:
            self.live.stop = Stop.TIMEOUT  # not a shutdown: Celery's own limit ends a process in the same way
        if leave is not None:
            return Ended(outcomes.stopped(self.live) or cancelled(Reason.INTERRUPTED), leave=leave)
        return Ended(self._outcome_of(error), error=error)

    def _outcome_of(self, error: BaseException) -> Outcome:
        own, facts = self.own, self.live.facts
        outcome = outcomes.of_error(error, self.live)
        if outcome.status != RunStatus.FAILED or isinstance(error, Reject):
            return outcome
        if own.asked is not None and not isinstance(error, Retry):
            return outcomes.of_retry(own.asked, facts, because=error)  # with throw=False
        spent = own.spent or (isinstance(error, Retry) and own.asked is None and retries.is_over(self.task))
        return replace(outcome, retryable=False) if spent else outcome

    # What Celery is told

    def _told(self, ended: Ended, finish: Finish | None) -> Any:
        """Return or raise what the tracer is to report: what the ledger has recorded."""
        if ended.leave is not None:
            raise ended.leave
        if isinstance(finish, Lost):
            if ended.error is not None and not isinstance(ended.error, SoftTimeLimitExceeded):
                logger.warning(
                    "run %s was ended by somebody else, and its body failed", self.live.id, exc_info=ended.error
                )
            raise Stopped("its row was ended by somebody else")
        status = ended.outcome.status if finish is None else finish.status
        if status == RunStatus.CANCELLED:
            raise Stopped(ended.outcome.reason if finish is None else finish.reason)
        goes_on = finish is None or finish.retry_id is not None
        error = _reported(ended, goes_on) if status == RunStatus.FAILED else ended.error
        if error is None:
            return ended.value
        raise error.with_traceback(outcomes.below_us(error.__traceback__))


def _reported(ended: Ended, goes_on: bool) -> BaseException:
    """The error that says to Celery that a run has failed, or will be tried again by the task's own wish."""
    match ended.error:
        case Retry() if goes_on and ended.outcome.own_retry:
            return ended.error
        case Retry(exc=Exception() as because) if ended.outcome.own_retry:
            return because
        case Reject():
            return Reject(getattr(ended.error, "reason", None), requeue=False)
        case Exception() as error if not isinstance(error, _UNTOLD) and outcomes.can_be_shown(error):
            return error
    return RunFailed(ended.outcome.error or str(ended.outcome.reason))


def ends_process(error: BaseException) -> bool:
    """The worker shuts down; a `SystemExit` that the task raised by itself is just its failure."""
    if isinstance(error, WorkerShutdown | WorkerTerminate):
        return True
    return isinstance(error, SystemExit) and _shutdown_has_begun()


def _shutdown_has_begun() -> bool:
    """Whether the pool's own handler of the termination signal has run in this process."""
    return bool(getattr(billiard_common, "_should_have_exited", [False])[0])
