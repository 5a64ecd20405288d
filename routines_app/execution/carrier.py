"""The one Celery task of this package: it carries any routine's run. What it is to do, the run's row says."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from celery import shared_task
from celery.app.task import Task

from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.execution.executor import Delivery, execute

# What the executed task may see of the message that rang its run in.
PASSED_ON = ("hostname", "delivery_info", "reply_to", "origin", "timelimit", "headers", "properties")


class ConnectionKeepingTask(Task):  # type: ignore[type-arg]
    """Celery's Django fix-up closes the database connection before and after every task, unless the task is eager.

    The executor looks after the connections itself, so that they outlive a run: the fix-up is told that this task is
    eager. Whether it really is, the delivery says.
    """

    @property
    def request(self) -> Any:
        request = super().request
        request.is_eager = True
        return request


@shared_task(  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    bind=True,
    base=ConnectionKeepingTask,
    name=EXECUTE_TASK,
    Request="routines_app.execution.request:RoutineRequest",
    acks_late=False,  # the row is the work: a message that is lost is published again
    ignore_result=True,  # the result is in the ledger
    store_errors_even_if_ignored=False,
    track_started=False,
    max_retries=0,
    # The watchdog keeps time per routine. What keeps the project's global limits away from runs that may be longer is
    # the message's own `timelimit`: the pool takes a limit of 0 for none and falls back to the worker's.
    time_limit=0,
    soft_time_limit=0,
)
def execute_run(self: Task[..., str], run_id: str, exclusive: int | bool = False) -> str:
    """Execute the run if it is still PENDING; says in a word what happened.

    `exclusive` is a hint from the publisher: True, or the routine's id.
    """
    request = self.request
    eager = bool((request.delivery_info or {}).get("is_eager"))
    passed_on: dict[str, Any] = {name: request.get(name) for name in PASSED_ON}
    hostname = request.hostname or "eager"
    return execute(
        Delivery(run_id=UUID(run_id), hostname=hostname, exclusive=exclusive, eager=eager, request=passed_on)
    )
