"""What a tool in a process of a test would have sent: a file of JSON lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "ROUTINES_TOOL_LOG"


def write_line(facts: dict[str, Any]) -> None:
    """By one write: whole or not at all, whichever processes write beside us."""
    descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, json.dumps(facts, default=str).encode() + b"\n")
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
