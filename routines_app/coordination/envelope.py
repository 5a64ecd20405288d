"""Messages on the wire: a few headers and the run's id, built without Celery's per-message machinery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from celery.app.task import Context
from celery.utils.nodenames import anon_nodename

from routines_app.coordination.shown_arguments import Patterns, shown_args, shown_kwargs

EXECUTE_TASK = "routines_app.execute_run"
HARD_LIMIT_SLACK_SECONDS = 30.0  # Celery's own limit stands behind the watchdog's, for code that holds the GIL
NO_CALLBACKS = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
_EMBEDDED = json.dumps(NO_CALLBACKS)


class Arguments(NamedTuple):
    """What the run's task is called with. Not on the wire: the worker reads its row."""

    args: list[Any]
    kwargs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """What is needed to ring one run in."""

    run_id: str
    routine: str
    task: str
    queue: str
    priority: str
    timeout_ms: int | None
    exclusive: int
    """The routine's id when its runs exclude each other, else 0: it saves the worker a read, and is not trusted."""
    args_json: str = ""
    """The arguments as they are stored, for monitors: empty where they are not at hand, cut where they are long."""
    kwargs_json: str = ""
    options: str = ""
    """The routine's options as they are stored; empty without any."""
    arguments: Arguments | None = field(default=None, compare=False)
    """Known only where a router may look at them."""

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """Messages of one kind go the same way."""
        return self.priority, self.queue, self.task, self.options

    @property
    def kwargs(self) -> dict[str, int]:
        return {"exclusive": self.exclusive} if self.exclusive else {}

    @property
    def body(self) -> str:
        """The JSON that Celery's protocol 2 wants; the id and the number need no escaping."""
        kwargs = f'{{"exclusive": {self.exclusive}}}' if self.exclusive else "{}"
        return f'[["{self.run_id}"], {kwargs}, {_EMBEDDED}]'


def header_template() -> dict[str, Any]:
    """What is the same in every message of a batch."""
    return {
        "lang": "py",
        "task": EXECUTE_TASK,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "parent_id": None,
        "origin": anon_nodename(),
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }


OWN_HEADERS = frozenset(
    {
        *header_template(),
        *("id", "root_id", "shadow", "argsrepr", "kwargsrepr", "timelimit"),
        # Celery makes attributes of a task's request out of headers, over those it has, methods too.
        *vars(Context),
        "compression",  # kombu would take the body for compressed
        *("CC", "BCC"),  # RabbitMQ would send a copy to each queue that they name
    }
)
"""What nobody but Celery and the broker may say."""


def headers(
    template: dict[str, Any], message: Message, secret: Patterns, others: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Celery's headers, and under them `others`: the routine's, or a router's."""
    run_id = message.run_id
    # Unset is for the worker to judge, which knows the task's own limits; 0 is none to it, and to Celery.
    hard = message.timeout_ms and message.timeout_ms / 1000 + HARD_LIMIT_SLACK_SECONDS
    own = {
        **template,
        "id": run_id,
        "root_id": run_id,
        "shadow": message.task,
        "argsrepr": shown_args(message.args_json, secret),
        "kwargsrepr": shown_kwargs(message.kwargs_json, message.routine, secret),
        # A soft limit of none would let the project's own soft limit in.
        "timelimit": [hard, hard],
    }
    return {**others, **own} if others else own
