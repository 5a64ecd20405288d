"""What a worker's main process sees of a run: its child's death, Celery's own limits, revocations, a cold shutdown.

Parent and child race to write the end of a run. Both go through Finish, and the compare-and-set decides. What the main
process reports of a run whose process is gone is what the ledger says then, under the user's task.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from math import inf
from typing import Any
from uuid import UUID

from billiard.einfo import ExceptionWithTraceback  # type: ignore[attr-defined, unused-ignore]
from billiard.exceptions import TimeLimitExceeded, WorkerLostError
from celery.app.task import Task
from celery.exceptions import Reject
from celery.worker import state
from celery.worker.request import Request

from routines_app.conf import get_settings
from routines_app.coordination.envelope import HARD_LIMIT_SLACK_SECONDS
from routines_app.core.words import Reason, RunStatus
from routines_app.execution import losses
from routines_app.execution.background import in_background
from routines_app.execution.exposure import SHUTDOWN_SIGNAL
from routines_app.execution.stops import Stop
from routines_app.execution.time_limits import allowed
from routines_app.execution.watchdog import watchdog
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import Lost, close_run
from routines_app.protocol.end.outlived import note_body_end
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed
from routines_app.protocol.run.start import hand_back

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 2.0**31  # more is no time that a timer could be set to
LOSSES = (WorkerLostError, SystemExit, KeyboardInterrupt, MemoryError, TimeLimitExceeded)


class RoutineRequest(Request):
    """The request of `routines_app.execute_run`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_lost = False
        self.time_limits = self._limits_behind()

    def _limits_behind(self) -> tuple[float | None, float | None]:
        """Celery's own limits, behind the watchdog's and the pacemaker's, for a process that nobody else ends.

        They count from the delivery on, so they leave room for a start that waits for the ledger. The soft one is the
        same: none would be the worker's own, which may come too early.
        """
        given = self._given_limit
        own = allowed(None if given is None else 0, self._users_task)
        end = own.stop_after + get_settings().stop_grace_seconds if own.end_after is None else own.end_after
        hard = min(given or inf, end + HARD_LIMIT_SLACK_SECONDS)
        if hard < inf:
            return hard, hard
        return None, None if own.stop_after == inf else LONGEST_SECONDS

    @property
    def _given_limit(self) -> float | None:
        """What its message says of the routine's time-out: None is unset, 0 is none.

        Whoever can write to the broker can write anything: what raised in here would stop the consumer.
        """
        match self.time_limits:
            case [int() | float() as hard, *_] if not isinstance(hard, bool) and hard >= 0:
                return min(hard, LONGEST_SECONDS)
        return None

    @property
    def _users_task(self) -> Task[..., Any] | None:
        """The task that the run is of, as its message says; the carrier's own is `task`."""
        name = self.request_dict.get("shadow")
        tasks: dict[str, Task[..., Any]] = self.task.app.tasks
        return tasks.get(name) if isinstance(name, str) else None

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Celery's hard limit: the body holds the interpreter's lock, so the watchdog inside could not act."""
        if soft:
            super().on_timeout(soft, timeout)
        else:
            self._lose(TimeLimitExceeded(timeout))

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        """What a tracer has returned is reported as it is; where it could not return, as the ledger says."""
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        if not return_ok and isinstance(error, LOSSES):
            self._lose(error)
            return
        if isinstance(error, Reject):
            self._reject(error)
            return
        super().on_failure(exc_info, send_failed_event=send_failed_event, return_ok=return_ok)

    def _reject(self, error: Reject) -> None:
        """Celery would tell it of the carrier with its arguments, and store it."""
        state.task_ready(self)
        self.acknowledge()
        in_background(lambda: self._tell_rejection(error))

    def _tell_rejection(self, error: Reject) -> None:
        found = facts.load(UUID(self.id))
        if found is not None:
            _in_thread(losses.report_rejection, self, found, error)

    def terminate(self, pool: Any, signal: Any = None) -> None:  # noqa: ARG002
        """Somebody revoked the task with `terminate`: a cancellation, carried out by the watchdog beside the body.

        By process id, as Celery does it, the signal could hit the next task of that process.
        """
        run_id = UUID(self.id)
        in_background(lambda: cancel(run_id))

    def cancel(self, pool: Any, signal: Any = None, emit_retry: bool = True) -> None:  # noqa: ARG002
        """A cold shutdown: the body is interrupted, and its process records that and makes the new row."""
        live = watchdog().find(self.id)
        if live is not None:
            live.ask_to_stop(Stop.INTERRUPTED, time.monotonic())
        elif self.time_start and self.worker_pid and int(self.worker_pid) != os.getpid():
            try:
                os.kill(int(self.worker_pid), SHUTDOWN_SIGNAL)
            except ProcessLookupError:
                return

    def _lose(self, error: BaseException) -> None:
        """Its process is gone, or about to be. The pool says so once or twice, by a limit and by what that came to."""
        if self._is_lost:
            return
        self._is_lost = True
        state.task_ready(self)
        self.acknowledge()
        if isinstance(error, TimeLimitExceeded):
            logger.warning("Hard time limit (%ss) exceeded for %s[%s]", error.args[0], self.name, self.id)
        outcome = _outcome_of_loss(error)
        in_background(lambda: self._end(outcome, error))

    def _end(self, outcome: Outcome, error: BaseException) -> None:
        run_id = UUID(self.id)
        is_ours = end_from_parent(run_id, outcome)
        row = RoutineRun.objects.using(ledger_alias()).filter(id=run_id).only(*losses.TOLD).first()
        found = facts.load(run_id)
        if row is None or found is None:
            return
        if row.status == RunStatus.FAILED and (is_ours or losses.was_ended_outside(row)):
            _in_thread(losses.report, self, found, row, error)
        else:
            losses.tell_end(self, row)


def _in_thread(tell: Callable[..., None], *arguments: Any) -> None:
    """Receivers and handlers are the project's: they must not hold up the ends of other runs."""
    threading.Thread(target=tell, args=arguments, name="routines-report", daemon=True).start()


def _outcome_of_loss(error: BaseException) -> Outcome:
    if bool(state.should_terminate):
        return cancelled(Reason.INTERRUPTED)
    if isinstance(error, TimeLimitExceeded):
        return failed(Reason.TIMEOUT, f"killed after {error.args[0]:g} s: it could not be interrupted")
    return failed(Reason.WORKER_LOST, str(error))


def end_from_parent(run_id: UUID, outcome: Outcome) -> bool:
    """End a RUNNING row whose process is gone; one that had not started yet goes back at once.

    True when this has ended it: otherwise somebody else had, and has told so or was about to.
    """
    row = RoutineRun.objects.using(ledger_alias()).filter(id=run_id).only("status", "start_token").first()
    if row is None:
        return False
    if row.status == RunStatus.RUNNING:
        return not isinstance(close_run(run_id, outcome), Lost)
    if row.status == RunStatus.PENDING:
        hand_back(run_id, Reason.WORKER_LOST, clock.now())
    elif row.start_token is None:  # somebody else has ended it, and its body went on until its process died
        note_body_end(run_id)
    return False


def cancel(run_id: UUID) -> None:
    """A revocation through Celery or Flower is a `cancel_run`; of a run that has ended there is nothing to cancel."""
    from routines_app.core.errors import RoutineError
    from routines_app.service import cancel_run

    try:
        cancel_run(run_id, reason="revoked through Celery")
    except RoutineError as error:
        logger.info("run %s was revoked, which changes nothing: %s", run_id, error)
