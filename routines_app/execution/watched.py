"""What heart and renewal need to know of a run: one of this process, or one of a child's."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from routines_app.execution.stops import Stop


class Watched(Protocol):
    """A run that is told to live, to stop, and to keep its lease."""

    @property
    def id(self) -> UUID: ...
    @property
    def fence(self) -> int | None: ...
    @property
    def routine_id(self) -> int: ...
    @property
    def exclusive(self) -> bool: ...
    def has_ended(self) -> bool:
        """Its lease is not renewed any more."""

    def ask_to_stop(self, stop: Stop, now: float) -> bool: ...
    def lose(self, now: float) -> None:
        """Its row is no longer ours: the body must not go on, and the lease is not ours to keep."""

    def progress_to_write(self) -> dict[str, Any] | None: ...
    def keep_progress(self) -> None:
        """What was asked for last could not be written."""

    @property
    def progress_changed(self) -> bool: ...
    def take_lines(self) -> list[tuple[datetime, str]]: ...
    def give_back_lines(self, lines: list[tuple[datetime, str]]) -> None: ...
