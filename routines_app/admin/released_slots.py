"""What each way of resuming would release, shown before a person chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.translating import grouped
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
        return "0" if self.span is None else grouped(self.span.count)

    @property
    def skip(self) -> str:
        if self.span is None:
            return _("nothing to skip")
        words = ngettext("{count} slot skipped, nothing runs", "{count} slots skipped, nothing runs", self.span.count)
        return words.format(count=self.count)

    @property
    def last(self) -> str:
        if self.span is None:
            return _("nothing to run")
        others = self.span.count - 1
        if not others:
            return _("1 run")
        return ngettext("1 run, {count} slot skipped", "1 run, {count} slots skipped", others).format(
            count=grouped(others)
        )

    @property
    def all(self) -> str:
        if self.span is None:
            return _("nothing to run")
        words = ngettext(
            "{count} run, oldest first, one at a time", "{count} runs, oldest first, one at a time", self.span.count
        )
        return words.format(count=self.count)


def releases_of(routines: Sequence[Routine]) -> list[Release]:
    return [Release(routine, _slots_of(routine)) for routine in routines[:SHOWN]]


def _slots_of(routine: Routine) -> Span | None:
    try:
        return slots_to_release(routine)
    except RoutineError:  # a corrupt schedule has no slots to count; resuming it will say what is wrong
        return None
