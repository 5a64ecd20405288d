"""Failures together that failed alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from routines_app.core.words import RunStatus
from routines_app.verbs.run_errors import LINES_READ, ErrorGroup, grouped, read_lines
from routines_app.verbs.run_selection import RunSelection


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroups:
    """What fails, and how often; the largest group first."""

    groups: tuple[ErrorGroup, ...]
    read: int
    """How many failures were read."""
    oldest: UUID | None
    """The last run that was looked at, where there may be older ones that were not; None: there are none."""


def error_groups(meant: RunSelection) -> ErrorGroups:
    """The failures that the filter means, by what their errors have in common. Reads the 5,000 newest at most."""
    stretch = replace(meant, status=RunStatus.FAILED.value, error=None).stretch()
    lines = list(read_lines(stretch.runs.order_by("-id")))
    oldest = lines[-1].run_id if len(lines) == LINES_READ else stretch.end
    return ErrorGroups(groups=tuple(grouped(lines)), read=len(lines), oldest=oldest)
