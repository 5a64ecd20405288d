"""What each way of resuming would release, shown before a person chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from routines_app.core.errors import RoutineError
from routines_app.models import Routine
from routines_app.service import Span, slots_to_release

SHOWN = 20  # routines on the page of a list action; each is read and counted by itself


@dataclass(frozen=True, slots=True)
class Release:
    """One routine and the slots that its pause kept from firing."""

    routine: Routine
    span: Span | None

    @property
    def count(self) -> str:
        return "0" if self.span is None else f"{self.span.count:,}"

    @property
    def skip(self) -> str:
        return f"{_slots(self.count)} skipped, nothing runs" if self.span else "nothing to skip"

    @property
    def last(self) -> str:
        if self.span is None:
            return "nothing to run"
        return "1 run" + ("" if self.span.count == 1 else f", {_slots(f'{self.span.count - 1:,}')} skipped")

    @property
    def all(self) -> str:
        return f"{_runs(self.count)}, oldest first, one at a time" if self.span else "nothing to run"


def releases_of(routines: Sequence[Routine]) -> list[Release]:
    return [Release(routine, _slots_of(routine)) for routine in routines[:SHOWN]]


def _slots_of(routine: Routine) -> Span | None:
    try:
        return slots_to_release(routine)
    except RoutineError:  # a corrupt schedule has no slots to count; resuming it will say what is wrong
        return None


def _slots(count: str) -> str:
    return f"{count} slot" if count == "1" else f"{count} slots"


def _runs(count: str) -> str:
    return f"{count} run" if count == "1" else f"{count} runs"
