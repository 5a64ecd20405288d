"""The list of runs within Django's change list: its own filters, its own pages, the same table and actions."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from routines_app import service
from routines_app.admin.run_list_form import RunListForm
from routines_app.admin.run_listing import listing
from routines_app.admin.run_question import OLDER_NAMES, OWN, Question


class RunChangeList(ChangeList):
    """Finds the page's ids by the question, and reads those rows; nothing is counted."""

    def get_filters_params(self, params: Any = None) -> Any:
        """What Django would take for lookups; it refuses all that are not ours."""
        found = super().get_filters_params(params)
        return {name: value for name, value in found.items() if name not in OWN and name not in OLDER_NAMES}

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:  # noqa: ARG002
        """Any run, for actions on those that were chosen by their ids."""
        self.filter_specs, self.has_filters, _, _, self.has_active_filters = self.get_filters(request)
        return self.root_queryset.order_by("-id")

    def get_results(self, request: HttpRequest) -> None:
        self.question = Question.of(request.GET, service.now())
        self.listing = listing(self.question)
        self.form = RunListForm(self.question)
        self.many_query = self.question.address(slot=None)
        self.groups_query = self.question.address(slot=None, status=None)
        found = self.root_queryset.filter(pk__in=self.listing.ids).annotate(error_start=service.error_start())
        rows: list[Any] = list(found.order_by("-id"))
        for row in rows:
            row.is_asked_slot = row.scheduled_for == self.question.slot
        self.result_list = rows
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count, self.show_admin_actions = False, bool(rows)
        self.can_show_all = self.multi_page = False
