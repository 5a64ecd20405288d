"""The routines list: one query for the rows, one for all their sparklines, one for the runs that will not stop."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from routines_app.admin.recent import recent_runs
from routines_app.admin.run_facts import overdue_runs


class RoutineChangeList(ChangeList):
    """Gives each row of the page its recent runs, and whether one of them is overdue."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """With every row's state known to be there, the order by next fire can follow its index."""
        found = super().get_queryset(request, exclude_parameters)
        by_next_fire = any("state__next_run_at" in str(term) for term in found.query.order_by)
        return found.filter(state__isnull=False) if by_next_fire else found

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        recent = recent_runs((row.pk for row in rows), using=self.queryset.db)
        overdue = set(overdue_runs().values_list("routine_id", flat=True))
        for row in rows:
            row.recent, row.overdue = recent[row.pk], row.pk in overdue
        self.result_list = rows
