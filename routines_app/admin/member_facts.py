"""Members of rotations as the pages tell them: where each stands, its phases, and what it did last."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from routines_app import service
from routines_app.admin.charts import PhaseStep, phase_strip
from routines_app.core.words import MemberStatus, RoutineStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun

STANDINGS = {
    "owed": pgettext_lazy("standing of a member", "Owed"),
    "in-flight": pgettext_lazy("standing of a member", "In flight"),
    "fresh": pgettext_lazy("standing of a member", "Fresh"),
    "failing": pgettext_lazy("standing of a member", "Failing"),
    "left-out": pgettext_lazy("standing of a member", "Left out"),
}
"""Every member is one of these: what is stored, as the next tick would see it."""
LAST_RUN = ("id", "status", "phase")
STEPS = {"in-flight": "running", "failing": "failed", "owed": "next", "left-out": "later"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A line of the table of members."""

    member: RotationMember
    standing: str
    phase: str
    """The next one, or the one that is under way: `build, 2 of 3`."""
    strip: SafeString
    stale_seconds: float
    waits_ticks: int
    """How many ticks a failing member waits still."""
    last_run: RoutineRun | None

    @property
    def routine(self) -> Routine:
        return self.member.routine

    @property
    def pill(self) -> SafeString:
        return standing_pill(self.standing)

    @property
    def attempted_at(self) -> datetime | None:
        """None: nobody has tried yet."""
        return self.member.attempted_at if self.member.attempted_at.year > 1970 else None


def member_rows(rotation: Rotation, members: Sequence[RotationMember], now: datetime) -> list[MemberRow]:
    """In one query more, however many they are."""
    runs = last_runs([member.pk for member in members])
    return [member_row(rotation, member, now, runs.get(member.pk)) for member in members]


def member_row(
    rotation: Rotation, member: RotationMember, now: datetime, last_run: RoutineRun | None = None
) -> MemberRow:
    names, standing = phase_names(rotation, member.routine), standing_of(rotation, member, now)
    return MemberRow(
        member=member,
        standing=standing,
        phase="" if standing == "fresh" else phase_in_words(names, member.phase),
        strip=phase_strip(steps_of(names, member.phase, standing)),
        stale_seconds=max(0.0, (now - member.stale_since).total_seconds()),
        waits_ticks=max(0, (member.retry_tick or 0) - rotation.ticks),
        last_run=last_run,
    )


def standing_of(rotation: Rotation, member: RotationMember, now: datetime) -> str:
    """As the counts have it: what the next tick would make owed is owed, and who takes no part is left out."""
    if member.status == MemberStatus.IN_FLIGHT:
        return "in-flight"
    if member.routine.status != RoutineStatus.ACTIVE:
        return "left-out"
    if member.status == MemberStatus.FRESH and member.due_at is not None and member.due_at > now:
        return "fresh"
    if member.status == MemberStatus.FAILED and (member.retry_tick or 0) > rotation.ticks + 1:
        return "failing"
    return "owed"


def phase_names(rotation: Rotation, routine: Routine) -> list[str]:
    """Of the member's own phases or the rotation's; one without a name when neither has any."""
    found = _names(routine.phases) or _names(rotation.phases)
    return found or [""]


def _names(phases: Any) -> list[str]:
    """Plain SQL can put anything there."""
    return [str(one.get("name", "")) for one in phases if isinstance(one, dict)] if isinstance(phases, list) else []


def phase_in_words(names: Sequence[str], phase: int) -> str:
    """`build, 2 of 3`; empty for a cycle of one phase without a name."""
    if len(names) == 1:
        return names[0]
    name = names[phase] if phase < len(names) else "?"
    return _("{phase}, {number} of {all}").format(phase=name, number=phase + 1, all=len(names))


def steps_of(names: Sequence[str], phase: int, standing: str) -> list[PhaseStep]:
    """What is behind it is done, and all of it when it is fresh."""
    if standing == "fresh":
        return [PhaseStep(name, "done") for name in names]
    here = STEPS[standing]
    return [
        PhaseStep(name, "done" if place < phase else here if place == phase else "later")
        for place, name in enumerate(names)
    ]


def membership_of(routine: Routine) -> Membership | None:
    """What a routine is in its rotation; None for one that is in none. Both are read with the routine."""
    member = getattr(routine, "membership", None)
    if routine.rotation is None or member is None:
        return None
    member.routine = routine
    return Membership(rotation=routine.rotation, row=member_row(routine.rotation, member, service.now()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A routine as a member."""

    rotation: Rotation
    row: MemberRow

    @property
    def href(self) -> str:
        return reverse("admin:routines_rotation_overview", args=[self.rotation.pk])

    @property
    def markup(self) -> SafeString:
        """For a list: by which rotation it is kept fresh, and where it is in its cycle."""
        link = format_html('<a class="rt-in-text" href="{}">{}</a>', self.href, self.rotation.name)
        under = format_html('<div class="rt-under">{}</div>', self.row.phase) if self.row.phase else ""
        where = format_html(_("In rotation {rotation}"), rotation=link)
        return format_html("{}{}{}", where, self.row.strip, under)


def standing_pill(standing: str) -> SafeString:
    return format_html('<span class="rt-pill rt-is-{}">{}</span>', standing, STANDINGS[standing])


def last_runs(routine_ids: Collection[int]) -> dict[int, RoutineRun]:
    """The newest run of each, by the index of routine and id; of it only what is shown."""
    newest = RoutineRun.objects.filter(routine_id=OuterRef("pk")).order_by("-id")
    shown = {f"last_{field}": Subquery(newest.values(field)[:1]) for field in LAST_RUN}
    found = Routine.objects.filter(pk__in=routine_ids).annotate(**shown).order_by().values_list("pk", *shown)
    return {
        routine_id: RoutineRun(pk=run_id, routine_id=routine_id, status=status, phase=phase)
        for routine_id, run_id, status, phase in found
        if run_id is not None
    }
