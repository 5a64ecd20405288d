"""Messages on the wire: a few headers and the run's id, built without Celery's per-message machinery."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from celery.utils.nodenames import anon_nodename

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
    timeout_ms: int
    exclusive: int
    """The routine's id when its runs exclude each other, else 0: it saves the worker a read, and is not trusted."""
    arguments: Arguments | None = field(default=None, compare=False)
    """Known only where a router may look at them."""

    @property
    def kind(self) -> tuple[str, str, str]:
        """Messages of one kind go the same way."""
        return self.priority, self.queue, self.task

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
        "kwargsrepr": "{}",
        "origin": anon_nodename(),
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }


def headers(template: dict[str, Any], message: Message) -> dict[str, Any]:
    run_id = message.run_id
    hard = message.timeout_ms / 1000 + HARD_LIMIT_SLACK_SECONDS
    return {
        **template,
        "id": run_id,
        "root_id": run_id,
        "shadow": message.routine,
        "argsrepr": f"('{run_id}',)",
        # A soft limit of none would let the project's own soft limit in.
        "timelimit": [hard, hard],
    }
