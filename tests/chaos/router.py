"""A router as a project may write it, for `task_routes`: it does harm for one task while a file says so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

MISROUTED = "tests.acceptance.tasks.misrouted"
HARMS = ("raises", "raises as a broker does", "names no queue")


def flag_file() -> Path | None:
    path = os.environ.get("ROUTINES_HOSTILE_ROUTER")
    return Path(path) if path else None


def route(name: str, *_: Any, **__: Any) -> dict[str, Any] | None:
    """Celery asks with the task's name first; everything else may be anything."""
    flag = flag_file()
    if name != MISROUTED or flag is None or not flag.exists():
        return None
    match flag.read_text():
        case "raises":
            raise RuntimeError("this router raises")
        case "raises as a broker does":
            raise ConnectionError("this router has a server of its own, which is away")
        case _:
            return {"exchange": "events", "routing_key": "anything"}
