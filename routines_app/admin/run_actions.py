"""The actions of the list of runs: the verbs for many, for those that were chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy

from routines_app.admin.run_many import ask_about_chosen, read_ids
from routines_app.admin.run_many_words import PAGES
from routines_app.models import RoutineRun

if TYPE_CHECKING:
    from routines_app.admin.runs import RunAdmin


@admin.action(description=gettext_lazy("Retry …"), permissions=["run"])
def retry_runs(site: RunAdmin, request: HttpRequest, chosen: QuerySet[RoutineRun]) -> HttpResponse:  # noqa: ARG001
    return ask_about_chosen(site, request, PAGES["retry"], _ids(request))


@admin.action(description=gettext_lazy("Cancel …"), permissions=["cancel"])
def cancel_runs(site: RunAdmin, request: HttpRequest, chosen: QuerySet[RoutineRun]) -> HttpResponse:  # noqa: ARG001
    return ask_about_chosen(site, request, PAGES["cancel"], _ids(request))


def _ids(request: HttpRequest) -> tuple[UUID, ...]:
    """Those that were ticked, and never all: a filter has a page of its own."""
    return read_ids(",".join(request.POST.getlist(ACTION_CHECKBOX_NAME)))


RUN_ACTIONS = [retry_runs, cancel_runs]
