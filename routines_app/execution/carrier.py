"""The one Celery task of this package: it carries any routine's run. What it is to do, the run's row says."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple
from uuid import UUID

from celery import shared_task
from celery.app.task import Task

from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.execution.executor import Delivery, execute
from routines_app.protocol.record.texts import cut, safe_text

logger = logging.getLogger(__name__)

# What the executed task may see of the message that rang its run in.
PASSED_ON = ("hostname", "delivery_info", "reply_to", "origin", "timelimit", "headers", "properties")


ID_LENGTH = 36
MOST_ROUTINES = 2**63  # more than any routine's id
SHOWN_CHARS = 100


class Asked(NamedTuple):
    """What a message of ours says."""

    run_id: UUID
    exclusive: int
    """A hint from the publisher: the routine's id, or True; 0 for runs that may overlap."""

    @classmethod
    def read(cls, run_id: object, exclusive: object = False) -> Asked:
        """Raises `TypeError` or `ValueError` for what we have not written."""
        if not isinstance(run_id, str) or len(run_id) != ID_LENGTH:
            raise TypeError(f"not the id of a run: {_shown(run_id)}")
        if not isinstance(exclusive, int) or not 0 <= exclusive < MOST_ROUTINES:
            raise TypeError(f"not the id of a routine: {_shown(exclusive)}")
        return cls(UUID(run_id), exclusive)


def _shown(value: object) -> str:
    return cut(safe_text(value, repr), SHOWN_CHARS)


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
def execute_run(self: Task[..., str], *args: Any, **kwargs: Any) -> str:
    """Execute the run if it is still PENDING; says in a word what happened.

    The arguments are those of `Asked.read`. Whoever can write to the broker can write anything: what is not a message
    of ours is refused here, before it costs anything.
    """
    try:
        asked = Asked.read(*args, **kwargs)
    except (TypeError, ValueError) as error:
        logger.warning("a message was refused: %s", cut(str(error), 2 * SHOWN_CHARS))
        return "refused"
    request = self.request
    eager = bool((request.delivery_info or {}).get("is_eager"))
    passed_on: dict[str, Any] = {name: request.get(name) for name in PASSED_ON}
    hostname = request.hostname or "eager"
    return execute(
        Delivery(run_id=asked.run_id, hostname=hostname, exclusive=asked.exclusive, eager=eager, request=passed_on)
    )
