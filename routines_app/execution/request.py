"""What a worker's main process sees of a run: its child's death, Celery's own limits, revocations, a cold shutdown.

Parent and child race to write the end of a run. Both go through Finish, and the compare-and-set decides.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any
from uuid import UUID

from billiard.einfo import ExceptionWithTraceback  # type: ignore[attr-defined, unused-ignore]
from billiard.exceptions import WorkerLostError
from celery.worker import state
from celery.worker.request import Request

from routines_app.core.words import Reason, RunStatus
from routines_app.execution.background import in_background
from routines_app.execution.executor import SHUTDOWN_SIGNAL
from routines_app.execution.stops import Stop
from routines_app.execution.watchdog import watchdog
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import close_run
from routines_app.protocol.end.outlived import note_body_end
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.outcome import Outcome, cancelled, failed
from routines_app.protocol.run.start import hand_back

logger = logging.getLogger(__name__)


class RoutineRequest(Request):
    """The request of `routines_app.execute_run`."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Celery's hard limit: the body holds the interpreter's lock, so the watchdog inside could not act."""
        if not soft:
            self._end(failed(Reason.TIMEOUT, f"killed after {timeout:g} s: it could not be interrupted"))
        super().on_timeout(soft, timeout)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        if isinstance(error, WorkerLostError | SystemExit | KeyboardInterrupt | MemoryError):
            self._worker_lost(error)
        super().on_failure(exc_info, send_failed_event=send_failed_event, return_ok=return_ok)

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
        elif self.time_start and self.worker_pid:
            try:
                os.kill(int(self.worker_pid), SHUTDOWN_SIGNAL)
            except ProcessLookupError:
                return

    def _worker_lost(self, error: BaseException) -> None:
        shutting_down = bool(state.should_terminate)
        lost = cancelled(Reason.INTERRUPTED) if shutting_down else failed(Reason.WORKER_LOST, str(error))
        self._end(lost)

    def _end(self, outcome: Outcome) -> None:
        run_id = UUID(self.id)
        in_background(lambda: end_from_parent(run_id, outcome))


def end_from_parent(run_id: UUID, outcome: Outcome) -> None:
    """End a RUNNING row whose process is gone; one that had not started yet goes back at once."""
    row = RoutineRun.objects.using(ledger_alias()).filter(id=run_id).only("status", "start_token").first()
    if row is None:
        return
    if row.status == RunStatus.RUNNING:
        close_run(run_id, outcome)
    elif row.status == RunStatus.PENDING:
        hand_back(run_id, Reason.WORKER_LOST, clock.now())
    elif row.start_token is None:  # somebody else has ended it, and its body went on until its process died
        note_body_end(run_id)


def cancel(run_id: UUID) -> None:
    """A revocation through Celery or Flower is a `cancel_run`; of a run that has ended there is nothing to cancel."""
    from routines_app.core.errors import RoutineError
    from routines_app.service import cancel_run

    try:
        cancel_run(run_id, reason="revoked through Celery")
    except RoutineError as error:
        logger.info("run %s was revoked, which changes nothing: %s", run_id, error)
