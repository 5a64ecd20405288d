"""The buttons of a rotation and of its members: what each is called, who may press it and what it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin import rotation_acts, verb_acts
from routines_app.admin.permissions import may
from routines_app.admin.verb_acts import Wants
from routines_app.admin.verb_buttons import LIVING
from routines_app.admin.verb_forms import PauseForm, VerbForm
from routines_app.core.said import Said
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, Routine

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class ArchiveForm(VerbForm):
    members = forms.BooleanField(
        label=gettext_lazy("Archive its members too"),
        required=False,
        help_text=gettext_lazy("Otherwise they stay, and run by hand."),
    )

    field_order = ["members", "reason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationVerb:
    """One button of a rotation. `act(rotation, wants, actor)` does it and says what was done."""

    slug: str
    label: _StrPromise
    permission: str
    explains: _StrPromise
    act: Callable[[Rotation, Wants, str], Said]
    form: type[VerbForm] = VerbForm
    statuses: frozenset[RoutineStatus] = LIVING
    needs_seed: bool = False
    danger: bool = False

    def fits(self, rotation: Rotation) -> bool:
        """Whether the verb makes sense for what the rotation is now."""
        return RoutineStatus(rotation.routine.status) in self.statuses and bool(rotation.seed or not self.needs_seed)


ROTATION_VERBS = {
    verb.slug: verb
    for verb in (
        RotationVerb(
            slug="tick",
            label=gettext_lazy("Tick now"),
            permission="run_routine",
            explains=gettext_lazy(
                "One tick more: it looks, idle or not, and picks what budget and flight leave room for."
            ),
            act=rotation_acts.tick,
        ),
        RotationVerb(
            slug="seed",
            label=gettext_lazy("Seed now"),
            permission="run_routine",
            explains=gettext_lazy(
                "A worker asks its callable what should be members, and those that lack a routine get one."
            ),
            act=rotation_acts.seed,
            needs_seed=True,
        ),
        RotationVerb(
            slug="pause",
            label=gettext_lazy("Pause"),
            permission="pause_routine",
            explains=gettext_lazy(
                "It does not tick until it is resumed. What is under way finishes, and its members run by hand."
            ),
            act=rotation_acts.pause,
            form=PauseForm,
            statuses=frozenset({RoutineStatus.ACTIVE}),
        ),
        RotationVerb(
            slug="resume",
            label=gettext_lazy("Resume"),
            permission="pause_routine",
            explains=gettext_lazy("It ticks again from now on."),
            act=rotation_acts.resume,
            statuses=frozenset({RoutineStatus.PAUSED}),
        ),
        RotationVerb(
            slug="archive",
            label=gettext_lazy("Archive"),
            permission="change_rotation",
            explains=gettext_lazy("It never ticks again. What is under way finishes; history stays."),
            act=rotation_acts.archive,
            form=ArchiveForm,
            statuses=frozenset(RoutineStatus),  # with very many members it is asked for again and again
            danger=True,
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberVerb:
    """One button for the members that are chosen: `at_once` does it for all of them, or `act` for one after another."""

    slug: str
    called: _StrPromise
    permission: str
    explains: _StrPromise
    at_once: Callable[[Rotation, Sequence[Routine], Wants, str], Said] | None = None
    act: Callable[[Routine, Wants, str], Said] | None = None
    form: type[VerbForm] = VerbForm
    asks: bool = False
    """It shows a page before it does anything."""
    danger: bool = False
    besides: str = ""
    """Another permission that it needs: it changes the members themselves, and not only where they stand."""

    @property
    def label(self) -> str:
        """What its button says."""
        return f"{self.called} …" if self.asks else str(self.called)

    def allowed(self, request: HttpRequest) -> bool:
        return may(request, self.permission) and (not self.besides or may(request, self.besides))


MEMBER_VERBS = {
    verb.slug: verb
    for verb in (
        MemberVerb(
            slug="touch",
            called=gettext_lazy("Touch"),
            permission="run_routine",
            explains=gettext_lazy("They are owed now, however fresh they are or often they failed."),
            at_once=rotation_acts.touch,
        ),
        MemberVerb(
            slug="run",
            called=gettext_lazy("Run now"),
            permission="run_routine",
            explains=gettext_lazy("Each runs its next phase as soon as a worker is free, whatever the budget."),
            act=verb_acts.run,
        ),
        MemberVerb(
            slug="pause",
            called=gettext_lazy("Pause"),
            permission="pause_routine",
            explains=gettext_lazy("No tick picks them until they are resumed; they run by hand all the same."),
            act=verb_acts.pause,
            form=PauseForm,
            asks=True,
        ),
        MemberVerb(
            slug="resume",
            called=gettext_lazy("Resume"),
            permission="pause_routine",
            explains=gettext_lazy("Ticks pick them again."),
            act=rotation_acts.resume_member,
        ),
        MemberVerb(
            slug="reset",
            called=gettext_lazy("Reset"),
            permission="reset_routine",
            explains=gettext_lazy(
                "Their counts of failures become zero, and those that are parked become active again."
            ),
            act=verb_acts.reset,
        ),
        MemberVerb(
            slug="remove",
            called=pgettext_lazy("members from a rotation", "Remove"),
            permission="change_rotation",
            besides="change_routine",
            explains=gettext_lazy("They leave the rotation and stay what they are: routines that run by hand."),
            at_once=rotation_acts.remove,
            asks=True,
            danger=True,
        ),
    )
}
