"""Failures grouped by error: what fails alike is one line, with a way to all of its runs and to a retry of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.permissions import may
from routines_app.admin.run_list_form import RunListForm
from routines_app.admin.run_question import Question
from routines_app.models import Routine

if TYPE_CHECKING:
    from routines_app.admin.runs import RunAdmin

USUALLY = "24h"
GROUPS_SHOWN = 100
ROUTINES_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A group on the page."""

    group: service.ErrorGroup
    named: list[tuple[int, str]]
    """The first of its routines."""
    runs: str
    retry: str

    @property
    def routines(self) -> int:
        return len(self.group.routine_ids)

    @property
    def unnamed(self) -> int:
        return self.routines - len(self.named)


def groups_page(admin: RunAdmin, request: HttpRequest) -> TemplateResponse:
    if not admin.has_view_permission(request):
        raise PermissionDenied
    asked = Question.of(request.GET, service.now(), usually=USUALLY)
    found = None if asked.meant is None else service.error_groups(asked.meant)
    groups = [] if found is None else list(found.groups[:GROUPS_SHOWN])
    names = _names(groups)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("Failures by error"),
        "opts": admin.model._meta,
        "section": "runs",
        "asked": asked,
        "form": RunListForm(asked, without=["slot"]),
        "found": found,
        "groups": [_shown(asked, group, names) for group in groups],
        "unshown": 0 if found is None else len(found.groups) - len(groups),
        "read_back_to": _looked_back_to(found),
        "may_retry": may(request, "run_routine"),
    }
    return TemplateResponse(request, "routines/run_groups.html", context)


def _names(groups: list[service.ErrorGroup]) -> dict[int, str]:
    """Of the routines that the page names, in one question."""
    wanted = {routine_id for group in groups for routine_id in group.routine_ids[:ROUTINES_NAMED]}
    return dict(Routine.objects.filter(pk__in=wanted).values_list("pk", "name"))


def _shown(asked: Question, group: service.ErrorGroup, names: dict[int, str]) -> Shown:
    query = asked.address(error=group.kind, status=None, slot=None)
    return Shown(
        group=group,
        named=[(one, names[one]) for one in group.routine_ids[:ROUTINES_NAMED] if one in names],
        runs=reverse("admin:routines_routinerun_changelist") + query,
        retry=reverse("admin:routines_run_many", args=["retry"]) + query,
    )


def _looked_back_to(found: service.ErrorGroups | None) -> datetime | None:
    return service.run_created_at(found.oldest) if found is not None and found.oldest is not None else None
