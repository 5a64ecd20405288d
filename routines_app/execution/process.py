"""What a worker's processes set up and report: database connections that last, the node, the end of a shutdown."""

from __future__ import annotations

import logging
import threading
from typing import Any
from uuid import UUID

from celery import bootsteps, current_app, signals
from celery.worker import state
from django.db import Error, connections

from routines_app.conf import get_settings
from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.coordination.patience import WORKER, be_patient
from routines_app.execution.background import drain, in_background
from routines_app.models import Role
from routines_app.protocol.ledger.database import keep_connection
from routines_app.protocol.upkeep.nodes import NodeReport, forget_node, report_node
from routines_app.verbs.health.sign import Sign

logger = logging.getLogger(__name__)

DEAD_CHILD_SECONDS = 1.0
DRAIN_SECONDS = 3.0  # how long a worker that ends waits for what it still has to write


@signals.worker_init.connect(weak=False)
@signals.worker_process_init.connect(weak=False)
def keep_connections(**_: Any) -> None:
    """With CONN_MAX_AGE 0 every run would open a connection of its own."""
    be_patient(WORKER)
    seconds = get_settings().worker_connection_seconds
    for alias in connections:
        keep_connection(alias, seconds)


class Reporter:
    """Reports this worker as a node, every minute and when something changes."""

    def __init__(self) -> None:
        self._wake = threading.Event()
        self._draining = False
        self._ended = False

    def start(self) -> None:
        threading.Thread(target=self._report, name="routines-node", daemon=True).start()

    def drain(self) -> None:
        """The worker takes no more work. Called in a signal handler: no database here."""
        self._draining = True
        self._wake.set()

    def end(self) -> None:
        """The worker ends in order: it is not a node any more."""
        self._ended = True
        self._wake.set()
        in_background(lambda: forget_node(self._now()))

    def _report(self) -> None:
        while not self._ended:
            self._wake.clear()
            try:
                report_node(self._now())
            except Error as error:
                logger.warning("the node could not be reported: %s", error)
            except Exception:
                logger.exception("the node could not be reported")
            finally:
                connections.close_all()
            self._wake.wait(get_settings().node_seconds)

    def _now(self) -> NodeReport:
        return NodeReport(
            role=Role.WORKER,
            queues=list(current_app.amqp.queues.consume_from),
            tasks=[name for name in current_app.tasks if not name.startswith("celery.")],
            running_runs=sum(request.task.name == EXECUTE_TASK for request in tuple(state.active_requests)),
            draining=self._draining,
        )


_reporter: Reporter | None = None


@signals.worker_ready.connect(weak=False)
def report(**_: Any) -> None:
    global _reporter
    _reporter = Reporter()
    _reporter.start()


@signals.worker_init.connect(weak=False)
def leave_signs(**_: Any) -> None:
    """From the start: a worker is ready only when it has reached its broker, and is well while that is away.

    Sent in the main process alone; children do not inherit the thread.
    """
    Sign(Role.WORKER).keep_leaving()


class DeadChildren(bootsteps.StartStopStep):
    """Celery's prefork pool looks for children that died every 5 s; a run that died with one should not wait so long.

    A step of the consumer, because each new connection to the broker begins with an empty event loop. Other pools
    have no children, and no event loop to ask.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._look: Any = None

    def start(self, parent: Any) -> None:
        maintain = getattr(getattr(parent.pool, "_pool", None), "maintain_pool", None)
        if parent.hub is not None and maintain is not None:
            self._look = parent.hub.call_repeatedly(DEAD_CHILD_SECONDS, maintain)

    def stop(self, parent: Any) -> None:  # noqa: ARG002
        if self._look is not None:
            self._look.cancel()
            self._look = None


@signals.worker_init.connect(weak=False)
def look_for_dead_children(sender: Any = None, **_: Any) -> None:
    sender.app.steps["consumer"].add(DeadChildren)


@signals.worker_ready.connect(weak=False)
def drain_before_a_soft_shutdown(sender: Any = None, **_: Any) -> None:
    """Celery tells of a cold shutdown only after the soft one before it, which may take minutes."""
    worker = getattr(sender, "controller", None)
    wait = getattr(worker, "wait_for_soft_shutdown", None)
    if worker is None or wait is None:
        return

    def drain_and_wait() -> None:
        report_draining()
        wait()

    worker.wait_for_soft_shutdown = drain_and_wait


@signals.worker_shutting_down.connect(weak=False)
def report_draining(**_: Any) -> None:
    if _reporter is not None:
        _reporter.drain()


@signals.worker_shutdown.connect(weak=False)
def end_in_order(**_: Any) -> None:
    """The last thing a worker does: what its children's ends left to be written, and the node."""
    if _reporter is not None:
        _reporter.end()
    drain(DRAIN_SECONDS)


@signals.task_revoked.connect(weak=False)
def cancel_revoked(sender: Any = None, request: Any = None, **_: Any) -> None:
    """A revoked message that a worker has thrown away: its run is cancelled, or it would be published again."""
    from routines_app.execution.request import cancel

    if getattr(sender, "name", None) == EXECUTE_TASK and request is not None:
        run_id = UUID(request.id)
        in_background(lambda: cancel(run_id))
