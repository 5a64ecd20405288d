"""The verbs that the admin offers for a routine: what each is called, who may use it and what it asks.

What each does is in `verb_acts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from routines_app.admin import verb_acts
from routines_app.admin.verb_acts import Wants
from routines_app.admin.verb_forms import (
    BackfillForm,
    GiveBackForm,
    HintFactorForm,
    HintIntervalForm,
    HintTimeForm,
    PauseForm,
    ResumeForm,
    RunForm,
    VerbForm,
)
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

LIVING = frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED, RoutineStatus.PARKED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One button. `act(routine, wants, actor)` does it and says what was done."""

    slug: str
    label: _StrPromise
    permission: str
    explains: _StrPromise
    act: Callable[[Routine, Wants, str], Said]
    act_on_many: Callable[[Sequence[Routine], Wants, str], list[Said | RoutineError]] | None = None
    """The same for many at once, by a fixed number of statements: what was done of each, or why not."""
    form: type[VerbForm] = VerbForm
    statuses: frozenset[RoutineStatus] = LIVING
    danger: bool = False
    for_members: bool = True
    """Whether a rotation's member may have it: its rotation says when it runs."""
    for_rotations: bool = True
    """Whether a rotation's own routine may have it: the page of the rotation has verbs of its own."""
    for_shadowed: bool = True
    """Whether a routine may have it that an old scheduler still fires."""
    only_declared: bool = False
    """Whether it is for routines that are declared in code."""

    def fits(self, routine: Routine) -> bool:
        """Whether the verb makes sense for what the routine is now."""
        return self.fits_kind(routine) and RoutineStatus(routine.status) in self.statuses

    def fits_kind(self, routine: Routine) -> bool:
        """Whether it makes sense for what it is: in code, in shadow, a rotation's own routine or its member."""
        if self.only_declared and not routine.is_declared_in_code:
            return False
        if routine.shadow and not self.for_shadowed:
            return False
        return self.for_rotations if rotates(routine) else self.for_members or routine.rotation_id is None


def rotates(routine: Routine) -> bool:
    """Whether it is the clock of a rotation."""
    return getattr(routine, "rotates", None) is not None


VERBS = {
    verb.slug: verb
    for verb in (
        Verb(
            slug="run",
            label=gettext_lazy("Run now"),
            permission="run_routine",
            explains=gettext_lazy("Runs once, as soon as a worker is free. The schedule does not move."),
            act=verb_acts.run,
            form=RunForm,
            for_shadowed=False,
        ),
        Verb(
            slug="pause",
            label=gettext_lazy("Pause"),
            permission="pause_routine",
            explains=gettext_lazy("Running runs finish, waiting ones are held, and no slot fires until it is resumed."),
            act=verb_acts.pause,
            act_on_many=verb_acts.pause_many,
            form=PauseForm,
            statuses=frozenset({RoutineStatus.ACTIVE}),
        ),
        Verb(
            slug="resume",
            label=gettext_lazy("Resume"),
            permission="pause_routine",
            explains=gettext_lazy("Held runs go on, and the schedule continues from now."),
            act=verb_acts.resume,
            act_on_many=verb_acts.resume_many,
            form=ResumeForm,
            statuses=frozenset({RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="reset",
            label=gettext_lazy("Reset"),
            permission="reset_routine",
            explains=gettext_lazy("Its count of failures becomes zero, and a parked routine becomes active again."),
            act=verb_acts.reset,
            statuses=frozenset({RoutineStatus.PARKED, RoutineStatus.ACTIVE}),
        ),
        Verb(
            slug="hint-interval",
            label=gettext_lazy("Hint an interval"),
            permission="hint_routine",
            explains=gettext_lazy("For a while it fires at another pace; the schedule itself stays as it is."),
            act=verb_acts.hint_interval,
            form=HintIntervalForm,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
            for_members=False,
        ),
        Verb(
            slug="hint-time",
            label=gettext_lazy("Hint a time"),
            permission="hint_routine",
            explains=gettext_lazy("It fires once at this time, if that is before its next slot."),
            act=verb_acts.hint_time,
            form=HintTimeForm,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
            for_members=False,
        ),
        Verb(
            slug="hint-factor",
            label=gettext_lazy("Hint a factor"),
            permission="hint_routine",
            explains=gettext_lazy(
                "For a while it fires so many times slower, or faster; the schedule itself stays as it is."
            ),
            act=verb_acts.hint_factor,
            form=HintFactorForm,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
            for_members=False,
        ),
        Verb(
            slug="clear-hints",
            label=gettext_lazy("Clear hints"),
            permission="hint_routine",
            explains=gettext_lazy("The schedule is planned again as if nobody had given a hint."),
            act=verb_acts.clear_hints,
        ),
        Verb(
            slug="backfill",
            label=gettext_lazy("Backfill"),
            permission="run_routine",
            explains=gettext_lazy("Makes a run for each slot of a past stretch, whether or not it ran before."),
            act=verb_acts.backfill,
            form=BackfillForm,
            for_shadowed=False,
            for_rotations=False,
        ),
        Verb(
            slug="give-back",
            label=gettext_lazy("Give back to code"),
            permission="change_routine",
            explains=gettext_lazy("What was changed here becomes what code says, and follows the code from then on."),
            act=verb_acts.give_back,
            form=GiveBackForm,
            only_declared=True,
        ),
        Verb(
            slug="replan",
            label=gettext_lazy("Replan"),
            permission="change_routine",
            explains=gettext_lazy(
                "Plans the next fire again, from the schedule as it is stored: after a change by plain SQL."
            ),
            act=verb_acts.replan,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="release-lease",
            label=gettext_lazy("Release lease"),
            permission="reset_routine",
            explains=gettext_lazy(
                "Takes the lock away from its holder. Only when you know that the holder is gone: the fence "
                "keeps a late holder from recording anything, not from doing things."
            ),
            act=verb_acts.release_lease,
            danger=True,
        ),
        Verb(
            slug="archive",
            label=gettext_lazy("Archive"),
            permission="change_routine",
            explains=gettext_lazy(
                "Waiting runs are cancelled, running ones finish, and it never fires again. History stays."
            ),
            act=verb_acts.archive,
            danger=True,
            for_rotations=False,
        ),
        Verb(
            slug="delete",
            label=gettext_lazy("Delete"),
            permission="delete_routine",
            explains=gettext_lazy("The routine and all its runs are removed for good."),
            act=verb_acts.delete,
            statuses=frozenset({RoutineStatus.ARCHIVED}),
            danger=True,
        ),
    )
}
