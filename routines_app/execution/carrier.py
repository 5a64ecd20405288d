"""The one Celery task of this package: it carries any routine's run. What it is to do, the run's row says.

A worker calls a task's tracer (`__trace__`), which Celery makes for each. This task has one of its own: it starts the
run and lets the tracer of the *user's* task do the rest, so that events, signals, logs and instrumentations see that
task, and never this one.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple
from uuid import UUID

from celery import shared_task
from celery.app.task import Task

from routines_app.coordination.envelope import EXECUTE_TASK
from routines_app.execution.executor import Delivery, Executed, execute, nothing
from routines_app.protocol.record.texts import cut, safe_text

logger = logging.getLogger(__name__)

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


def trace_run(uuid: str, args: Any, kwargs: Any, request: dict[str, Any] | None = None) -> Any:  # noqa: ARG001
    """As a worker calls a task's tracer. Nothing to do is neither a success nor a failure."""
    return _execute(args, kwargs, request or {}).traced


def _execute(args: Any, kwargs: Any, request: dict[str, Any]) -> Executed:
    """The arguments are those of `Asked.read`.

    Whoever can write to the broker can write anything: what is not a message of ours is refused here, before it costs
    anything.
    """
    try:
        asked = Asked.read(*args, **kwargs)
    except (TypeError, ValueError) as error:
        logger.warning("a message was refused: %s", cut(str(error), 2 * SHOWN_CHARS))
        return nothing("refused")
    eager = bool(request.get("is_eager"))
    executed = execute(
        Delivery(
            run_id=asked.run_id,
            hostname=request.get("hostname") or "eager",
            exclusive=asked.exclusive,
            eager=eager,
            request=request,
        )
    )
    logger.debug("the message of run %s: %s", asked.run_id, executed.said)
    return executed


class Carrier(Task):  # type: ignore[type-arg]
    """A worker gives every task a tracer, when its consumer starts and in each new child; this one has its own."""

    @property
    def __trace__(self) -> Any:
        return trace_run

    @__trace__.setter
    def __trace__(self, _built: Any) -> None:
        """Not wanted."""


@shared_task(  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    bind=True,
    base=Carrier,
    name=EXECUTE_TASK,
    Request="routines_app.execution.request:RoutineRequest",
    acks_late=False,  # the row is the work: a message that is lost is published again
    ignore_result=True,  # the result is in the ledger
    store_errors_even_if_ignored=False,
    track_started=False,
    max_retries=0,
    # The watchdog keeps time per run; the limits behind that are the request's.
    time_limit=0,
    soft_time_limit=0,
)
def execute_run(self: Task[..., str], *args: Any, **kwargs: Any) -> str:
    """Execute the run if it is still PENDING; says in a word what happened. For calls that no worker makes."""
    request = self.request
    known = {name: request.get(name) for name in ("hostname", "delivery_info", "is_eager", "properties", "headers")}
    return _execute(args, kwargs, known).said
