"""What a test says about the ledger. Whoever fails shows what the ledger has instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from django.db.models import Min

from routines_app import service
from routines_app.core.errors import InvalidValue
from routines_app.core.words import Reason, RunStatus
from routines_app.masks import masked_line
from routines_app.models import Routine, RoutineRun
from routines_app.testing.frozen import aware

SHOWN_RUNS = 20
SHOWN_ERROR = 60  # characters; all of it is in the row
HEADS = ("slot", "status", "reason", "attempt", "error")

RoutineRef = Routine | int | str
Word = TypeVar("Word", bound=StrEnum)


def assert_ran(
    routine: RoutineRef, times: int = 1, *, status: str | None = RunStatus.SUCCESS, at: datetime | str | None = None
) -> None:
    """The routine's body was started so often with this end; `status=None`: with any. `at` is the slot.

    Each attempt counts: one that failed and succeeded at its retry has one run of each status.
    """
    found = service.find_routine(routine)
    wanted = None if status is None else _word(RunStatus, "status", status)
    slot = None if at is None else aware("at", at)
    runs = _runs_of(found)
    ran = [run for run in runs if run.started_at and wanted in (None, run.status) and slot in (None, run.scheduled_for)]
    if len(ran) != times:
        what = f"{_count(times, 'run')}{f' with {wanted}' if wanted else ''}{_at(slot)}"
        _fail(found, f"{what} expected, {len(ran)} found", runs)


def assert_not_run(routine: RoutineRef) -> None:
    """The routine's body was not started at all."""
    assert_ran(routine, 0, status=None)


def assert_skipped(
    routine: RoutineRef, reason: str | None = None, *, times: int | None = None, at: datetime | str | None = None
) -> None:
    """Slots of the routine were skipped, at least one or exactly so many; for this reason (`overlap`), or for any.

    Slots are counted, not rows: after an outage one row stands for many.
    """
    found = service.find_routine(routine)
    wanted = None if reason is None else _word(Reason, "reason", reason)
    slot = None if at is None else aware("at", at)
    runs = _runs_of(found)
    skipped = [run for run in runs if run.status == RunStatus.SKIPPED and wanted in (None, run.reason)]
    count = sum(run.occurrences if slot is None else _stands_for(run, slot) for run in skipped)
    if count != times if times is not None else not count:
        expected = "a skipped slot" if times is None else _count(times, "skipped slot")
        what = f"{expected}{f' ({wanted})' if wanted else ''}{_at(slot)}"
        _fail(found, f"{what} expected, {count} found", runs)


def assert_ledger_balanced() -> None:
    """The audit finds nothing: each slot, up to a minute ago, is in one row or one counted span.

    Slots that are more than the audit compares are not said to balance: it fails, and names the last one that was.
    """
    first = Routine.objects.using(service.ledger_alias()).aggregate(at=Min("created_at"))["at"]
    if first is None:
        return
    found = service.audit(first - timedelta(days=1))
    if not found.balances:
        listed = "\n".join(str(imbalance) for imbalance in found.imbalances[:SHOWN_RUNS])
        raise AssertionError(f"the ledger does not balance, in {len(found.imbalances)} places:\n{listed}")
    if found.unjudged:
        listed = "\n".join(f"{each.routine}: {_moment(each.after)} {each.what}" for each in found.unjudged[:SHOWN_RUNS])
        raise AssertionError(f"the ledger has more slots than are compared, let less time pass:\n{listed}")


def _runs_of(routine: Routine) -> list[RoutineRun]:
    runs = RoutineRun.objects.using(service.ledger_alias()).filter(routine_id=routine.pk)
    return list(runs.order_by("scheduled_for", "attempt", "id"))


def _stands_for(run: RoutineRun, slot: datetime) -> bool:
    return run.scheduled_for <= slot <= (run.scheduled_until or run.scheduled_for)


def _word(words: type[Word], field: str, given: str) -> Word:
    try:
        return words(given)
    except ValueError:
        raise InvalidValue(field, given, f"give one of {', '.join(filter(None, words))}") from None


def _count(times: int, what: str) -> str:
    return f"{times} {what}{'' if times == 1 else 's'}"


def _at(slot: datetime | None) -> str:
    return "" if slot is None else f" at {_moment(slot)}"


def _fail(routine: Routine, what: str, runs: Sequence[RoutineRun]) -> None:
    raise AssertionError(f"{routine.name}: {what}. {_shown(runs)}")


def _shown(runs: Sequence[RoutineRun]) -> str:
    if not runs:
        return "The ledger has no run of it."
    before = len(runs) - SHOWN_RUNS
    more = f" ({before} more before these)" if before > 0 else ""
    return f"The ledger has{more}:\n" + _table([HEADS, *(_row(run) for run in runs[-SHOWN_RUNS:])])


def _row(run: RoutineRun) -> tuple[str, ...]:
    slot = _moment(run.scheduled_for)
    if run.scheduled_until is not None:
        slot = f"{run.occurrences} slots, {slot} to {_moment(run.scheduled_until)}"
    error = masked_line(run.error).partition("\n")[0][:SHOWN_ERROR]
    return slot, run.status, run.reason or "-", str(run.attempt), error


def _moment(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="seconds")


def _table(rows: Iterable[Sequence[str]]) -> str:
    cells = list(rows)
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
