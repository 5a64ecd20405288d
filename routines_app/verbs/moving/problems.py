"""What is wrong with an entry, in words."""

from __future__ import annotations

from routines_app.core.errors import RoutineError


def told(error: Exception) -> str:
    """Why an entry cannot be read, in a clause."""
    match error:
        case RoutineError() | TypeError() | ValueError():
            return str(error)
        case KeyError():
            return f"it has no {error}"
        case _:
            return f"{type(error).__name__}: {error}"
