"""Routers as a project may write them, for `task_routes`."""

from __future__ import annotations

from typing import Any

from tests.acceptance.fault import NOTE

HOSTILE = {
    "tests.acceptance.tasks.fail": "raises",
    "tests.acceptance.tasks.segfault": "names no queue",
    "tests.acceptance.tasks.exit_hard": "raises as a broker does",
}


def hostile(name: str, args: Any, kwargs: Any, options: Any, task: Any = None, **_: Any) -> dict[str, Any] | None:
    """Does what it should for notes, by looking at the task and its arguments; and harm for others."""
    match HOSTILE.get(name):
        case "raises":
            raise RuntimeError("this router raises")
        case "names no queue":
            return {"exchange": "events", "routing_key": "anything"}
        case "raises as a broker does":
            raise ConnectionError("this router has a server of its own, which is away")
        case _:
            return {"queue": "notes"} if task.name == NOTE and args[0] == "note" else None
