"""The errors of many runs: their first lines as people see them, and failures of one kind together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Left

from routines_app.core.error_kind import error_kind, first_line
from routines_app.core.said import said
from routines_app.masks import masked_line
from routines_app.masks.texts import CUT
from routines_app.models import RoutineRun
from routines_app.verbs.reading import run_created_at

LINES_READ = 5_000  # errors that one reader compares: some 200 ms if no two are the same
START = 400  # characters of an error that are read where only its first line is shown
WITHOUT_TEXT = said("(no error text)")


def error_start() -> Left:
    """What to read instead of the error, which may have megabytes, where only its first line is shown."""
    return Left("error", START)


def error_line(start: str) -> str:
    """The first line of an error, masked, of what `error_start` has read of it."""
    # Marked as cut: a secret whose end is missing is then masked to its end.
    return first_line(masked_line(start + CUT if len(start) == START else start))


class Line(NamedTuple):
    run_id: UUID
    routine_id: int
    line: str
    kind: str


def read_lines(rows: QuerySet[RoutineRun]) -> Iterator[Line]:
    """The errors of the first rows, at most 5,000 of them; each is masked and compared when it is asked for."""
    told = lru_cache(maxsize=1_000)(_told)  # many failures say the same
    found = rows.values_list("pk", "routine_id", error_start())[:LINES_READ]
    return (Line(run_id, routine_id, *told(start)) for run_id, routine_id, start in found)


def _told(start: str) -> tuple[str, str]:
    line = error_line(start)
    return line, error_kind(line) or WITHOUT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Failures whose errors differ only in numbers, ids and quoted values."""

    kind: str
    example: str
    """The newest of their first lines."""
    newest: UUID
    count: int
    routine_ids: tuple[int, ...]
    """Of their routines, those that failed last first."""
    since: datetime
    last: datetime


def grouped(lines: Iterable[Line]) -> list[ErrorGroup]:
    """The groups of lines that come newest first, the largest group first."""
    by_kind: dict[str, list[Line]] = {}
    for line in lines:
        by_kind.setdefault(line.kind, []).append(line)
    groups = [_group(kind, members) for kind, members in by_kind.items()]
    return sorted(groups, key=lambda group: (-group.count, -group.last.timestamp()))


def _group(kind: str, members: list[Line]) -> ErrorGroup:
    return ErrorGroup(
        kind=kind,
        example=members[0].line,
        newest=members[0].run_id,
        count=len(members),
        routine_ids=tuple(dict.fromkeys(line.routine_id for line in members)),
        since=run_created_at(members[-1].run_id),
        last=run_created_at(members[0].run_id),
    )
