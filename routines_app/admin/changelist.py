"""The routines list: which rows are on the page, the rows, all their sparklines, and the runs that will not stop."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Greatest
from django.http import HttpRequest

from routines_app.admin.recent import recent_runs
from routines_app.admin.routine_filters import NEVER, RanFilter
from routines_app.admin.run_facts import overdue_runs
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import RoutineState

NEXT_LOOK = {
    RoutineStatus.PAUSED: ["paused_until", "name"],
    RoutineStatus.PARKED: ["name"],
    RoutineStatus.ARCHIVED: ["name"],
}
"""By status: the order that an order by next fire comes to."""
ALWAYS_OPEN = 2  # filters: by status and by health
STATE = "state__"
NEWEST_FIRST = ["-state__routine_id"]
"""The order of what never ran, unless another is asked for: most of it is new, and along this one at worst all states
are looked through once."""
SORTED = 50_000  # rows that are sorted rather than looked for along an index
WALKED = 1_000  # rows along an index that are looked through for what a search finds
LONGEST_WALK = 50_000  # rows along an index in which a page is expected: to sort all hits takes no longer


class RoutineChangeList(ChangeList):
    """Gives each row of the page its recent runs, and whether one of them is overdue."""

    def get_filters(self, request: HttpRequest) -> Any:
        """The first two are open; the others say what they are by, and open when one is chosen or asked for."""
        found = super().get_filters(request)
        for spec in found[0][ALWAYS_OPEN:]:
            spec.template = "routines/filter.html"
        return found

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Of what is not ACTIVE the next fire is known without its state, which is at the far end of the index by next
        fire: a paused routine is looked at when its pause ends, and no other at all."""
        ordering = super().get_ordering(request, queryset)
        known = NEXT_LOOK.get(self.params.get("status__exact", ""))
        if known is not None:
            return [told for term in ordering for told in (_instead(term, known) if _is_next_fire(term) else [term])]
        if self.params.get(RanFilter.parameter_name) == NEVER and ORDER_VAR not in self.params:
            return NEWEST_FIRST
        return _along_the_index(ordering)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = self._page()
        recent = recent_runs((row.pk for row in rows), using=self.queryset.db)
        overdue = set(overdue_runs().values_list("routine_id", flat=True))
        for row in rows:
            row.recent, row.overdue = recent[row.pk], row.pk in overdue
        self.result_list = rows

    def _page(self) -> list[Any]:
        """The ids of the page first, then their rows: what is left out needs no state, pool or rotation."""
        ids = self._ids()
        rows = {row.pk: row for row in self.root_queryset.filter(pk__in=ids)}
        return [rows[pk] for pk in ids if pk in rows]

    def _ids(self) -> list[Any]:
        ordered, last = self.queryset.select_related(None), self.result_list.query.high_mark
        if not self.paginator.is_capped or self._is_at_the_far_end():
            return self._on_the_page(_sorted(ordered))
        ordered = _along_the_states(ordered)
        if not self.query or last is None:
            return self._on_the_page(ordered)
        if not _is_walked(ordered):
            return self._on_the_page(_sorted(ordered) if _is_few(self.queryset) else ordered)
        first = self._first_hits(ordered)
        if len(first) >= last:
            return first[self.result_list.query.low_mark : last]
        is_dense = bool(first) and last * WALKED <= LONGEST_WALK * len(first)
        return self._on_the_page(ordered if is_dense else _sorted(ordered))

    def _first_hits(self, ordered: QuerySet[Any]) -> list[Any]:
        """What a search finds among the first of all: what is in every second name fills a page there, and what is at
        the far end of the order alone costs no walk through all that comes before it."""
        walked = _along_the_states(self.root_queryset.select_related(None).order_by(*ordered.query.order_by))
        ids = list(walked.values_list("pk", flat=True)[:WALKED])
        return list(ordered.filter(pk__in=ids).values_list("pk", flat=True))

    def _on_the_page(self, ordered: QuerySet[Any]) -> list[Any]:
        query = self.result_list.query
        return list(ordered.values_list("pk", flat=True)[query.low_mark : query.high_mark])

    def _is_at_the_far_end(self) -> bool:
        """MANUAL routines have no next fire, and in an order by that come behind all others: they are sorted while they
        are not too many."""
        manual = self.params.get("trigger_kind__exact") == TriggerKind.MANUAL and _is_by_next_fire(self.queryset)
        return manual and _is_few(self.queryset)


def _sorted(ordered: QuerySet[Any]) -> QuerySet[Any]:
    return ordered.order_by(*(_unindexed(term) for term in ordered.query.order_by))


def _is_walked(ordered: QuerySet[Any]) -> bool:
    """Whether an index has all rows in this order, and not only those that are paused."""
    return _is_by_next_fire(ordered) or all(str(term).removeprefix("-") == "name" for term in ordered.query.order_by)


def _is_few(rows: QuerySet[Any]) -> bool:
    return bool(rows.order_by()[:SORTED].count() < SORTED)


def _along_the_states(ordered: QuerySet[Any]) -> QuerySet[Any]:
    """With every row's state known to be there, an order by next fire can follow the states' index."""
    return ordered.filter(state__isnull=False) if _is_by_next_fire(ordered) else ordered


def _along_the_index(ordering: list[Any]) -> list[Any]:
    """What fires at the same moment comes in the order of the ids, as in the index: a million may, at midnight, and
    would all be sorted by their names for one page."""
    place = next((place for place, term in enumerate(ordering) if _is_next_fire(term)), None)
    if place is None:
        return ordering
    last = f"-{STATE}routine_id" if _is_descending(ordering[place]) else f"{STATE}routine_id"
    return [*ordering[: place + 1], last]


def _is_by_next_fire(rows: QuerySet[Any]) -> bool:
    return any(_is_next_fire(term) for term in rows.query.order_by)


def _is_next_fire(term: Any) -> bool:
    return "state__next_run_at" in str(term)


def _instead(term: Any, fields: list[str]) -> list[str]:
    return [f"-{field}" for field in fields] if _is_descending(term) else fields


def _is_descending(term: Any) -> bool:
    return term.startswith("-") if isinstance(term, str) else bool(getattr(term, "descending", False))


def _unindexed(term: Any) -> Any:
    """The same order, as an expression that no index is of: the few rows that match are found first, and sorted then.

    A database takes them for spread evenly along the index of the order, and walks that for them; but they may all be
    of one team, or without a next fire, and so behind a million others.
    """
    if not isinstance(term, str):
        return term
    field = term.removeprefix("-")
    if field == f"{STATE}routine_id":
        field = "pk"  # is the same, and need not be looked up
    value = _of_its_state(field) if field.startswith(STATE) else Greatest(field, field)
    return value.desc() if term.startswith("-") else value.asc()


def _of_its_state(field: str) -> Subquery:
    """Asked of each row that matches: a join would read a million states for a few thousand."""
    return Subquery(RoutineState.objects.filter(pk=OuterRef("pk")).values(field.removeprefix(STATE))[:1])
