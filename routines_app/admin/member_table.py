"""The table of a rotation's members: chosen by where they stand and by name, the stalest first, page after page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from routines_app import service
from routines_app.admin.member_facts import STANDINGS, MemberRow, member_rows
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, RotationMember, Routine

PER_PAGE = 50
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHOWN = ("name", "status", "pause_reason", "phases")
"""Of a member's routine: its arguments may be long, and are not shown here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTable:
    """One page of it, and the addresses that lead on."""

    rows: Sequence[MemberRow]
    standing: str
    search: str
    problem: str
    """Why nothing was looked for; empty: something was."""
    switches: Sequence[tuple[str, str, bool]]
    """The filters: what each is called, its address, and whether it is the one in force."""
    next_url: str
    """Empty: this is the last page."""
    first_url: str
    """Empty: this is the first page."""
    place: str
    """The query of this very page."""


def member_table(request: HttpRequest, rotation: Rotation, now: datetime) -> MemberTable:
    standing = request.GET.get("status", "")
    standing = standing if standing in STANDINGS else ""
    search, after = request.GET.get("q", "").strip(), _place(request.GET.get("after", ""))
    problem = search_problem(search)
    found = [] if problem else list(_after(chosen_members(rotation, standing, search, now), after)[: PER_PAGE + 1])
    shown = found[:PER_PAGE]
    return MemberTable(
        rows=member_rows(rotation, shown, now),
        standing=standing,
        search=search,
        problem=problem,
        switches=_switches(request, standing),
        next_url=_address(request, after=_key(shown[-1])) if len(found) > PER_PAGE else "",
        first_url=_address(request) if after else "",
        place=place_in_table(request),
    )


def search_problem(search: str) -> str:
    """What is wrong with what was typed; the bounds are those of every search."""
    if len(search) > service.LONGEST_SEARCH or len(search.split()) > service.SEARCH_WORDS:
        told = _("Nothing was searched for: give at most {characters} characters and {words} words.")
        return told.format(characters=service.LONGEST_SEARCH, words=service.SEARCH_WORDS)
    return "" if service.is_storable(search) else _("No name has a NUL character.")


def chosen_members(rotation: Rotation, standing: str, search: str, now: datetime) -> QuerySet[RotationMember]:
    """The stalest first; each word of the search is in the name.

    What is asked of a routine is looked up for each member by its key, and only as far as the page goes: with a
    condition on both sides of a join a database that has not counted its rows yet may go through all members for each
    of the routines.
    """
    routine = Routine.objects.filter(pk=OuterRef("pk"))
    members = RotationMember.objects.filter(rotation_id=rotation.pk).order_by("stale_since", "pk")
    members = members.alias(routine_status=Subquery(routine.values("status")[:1]))
    members = members.alias(routine_name=Subquery(routine.values("name")[:1]))
    if standing:
        takes_part = Q(routine_status=RoutineStatus.ACTIVE)
        members = members.filter(service.standings(rotation.ticks, now, takes_part)[standing.replace("-", "_")])
    for word in search.split():
        members = members.filter(routine_name__icontains=word)
    own = [field.attname for field in RotationMember._meta.concrete_fields]
    return members.select_related("routine").only(*own, *(f"routine__{name}" for name in SHOWN))


def _after(members: QuerySet[RotationMember], place: tuple[datetime, int] | None) -> QuerySet[RotationMember]:
    """By where the page before it ended, and not by a number of rows to be read past."""
    if place is None:
        return members
    since, pk = place
    # The first condition says nothing new, but it is the one that an index can begin with.
    return members.filter(stale_since__gte=since).filter(Q(stale_since__gt=since) | Q(pk__gt=pk))


def _key(member: RotationMember) -> str:
    return f"{(member.stale_since - EPOCH) // timedelta(microseconds=1)}-{member.pk}"


def _place(text: str) -> tuple[datetime, int] | None:
    """Where the page before it ended; None for what no page of ours says."""
    since, _dash, pk = text.partition("-")
    if not (service.is_id(since) and service.is_id(pk)):
        return None
    try:
        return EPOCH + timedelta(microseconds=int(since)), int(pk)
    except OverflowError:
        return None


def _switches(request: HttpRequest, standing: str) -> list[tuple[str, str, bool]]:
    every = [("", pgettext("members", "All")), *((slug, str(label)) for slug, label in STANDINGS.items())]
    return [(label, _address(request, status=slug), slug == standing) for slug, label in every]


def place_in_table(request: HttpRequest) -> str:
    """The query that leads to the same filter, search and page; empty: the table is shown from its beginning."""
    found = query_of(request, after=request.GET.get("after", ""))
    return f"{found}#rt-members" if found else ""


def _address(request: HttpRequest, **changes: str) -> str:
    """The same page with something else chosen; without `after`, from its beginning."""
    return f"{query_of(request, **changes) or '?'}#rt-members"


def query_of(request: HttpRequest, **changes: str) -> str:
    """What is chosen on the page, with something else chosen."""
    found = QueryDict(mutable=True)
    kept = {name: request.GET.get(name, "") for name in ("status", "q", "window")}
    found.update({name: value for name, value in (kept | changes).items() if value})
    return f"?{found.urlencode()}" if found else ""
