"""Routines in the admin: the list, and the way to the pages of one routine."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from routines_app import service
from routines_app.admin import (
    agenda_page,
    backfill_page,
    batch_pages,
    fleet_page,
    fleet_verbs,
    health_bar,
    history,
    plan_page,
    preview,
    routine_page,
    verb_pages,
)
from routines_app.admin.actions import LIST_ACTIONS, ReasonActionForm
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.changelist import RoutineChangeList
from routines_app.admin.filters import HealthFilter
from routines_app.admin.form_page import RoutineFormPage
from routines_app.admin.page_zone import choose_zone
from routines_app.admin.paging import CappedPaginator
from routines_app.admin.permissions import RoutinePermissions, may_copy
from routines_app.admin.restoring import PARTS
from routines_app.admin.routine_columns import RoutineColumns
from routines_app.admin.routine_filters import DeclaredFilter, GroupFilter, PoolFilter, RanFilter, TaskFilter
from routines_app.admin.routine_search import RoutineSearch
from routines_app.admin.saved_filters import SavedFilters
from routines_app.admin.tag_filter import TagFilter
from routines_app.admin.verb_buttons import rotates
from routines_app.models import Routine

SHOWN_WITH = ["state", "pool", "rotates", "rotation__routine", "membership", "moved_entry"]


@admin.register(Routine)
class RoutineAdmin(RoutinePermissions, RoutineColumns, SavedFilters, RoutineSearch, RoutineFormPage):
    """The list shows each routine's state, schedule, next fire and last runs; its name leads to its page."""

    list_display = ["title", "state_pill", "schedule", "next_fire", "last_runs", "policies"]
    list_display_links = None
    list_filter = [
        "status",
        HealthFilter,
        "trigger_kind",
        "concurrency_policy",
        "priority",
        TaskFilter,
        RanFilter,
        DeclaredFilter,
        PoolFilter,
        GroupFilter,
        TagFilter,
    ]
    list_select_related = SHOWN_WITH
    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counts per filter would read every routine
    paginator = CappedPaginator
    actions = LIST_ACTIONS
    action_form = ReasonActionForm
    autocomplete_fields = ["parent", "pool", "rotation"]
    ordering = ["name"]

    def __init__(self, model: type[Routine], admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        health_bar.show_on_index(admin_site)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Routine]:
        return super().get_queryset(request).select_related(*SHOWN_WITH)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return RoutineChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        shown = {"section": "routines", "may_pause_all": self.has_pause_permission(request)}
        return super().changelist_view(request, {**shown, **(extra_context or {})})

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Django's own deletion would collect millions of runs; the verb deletes archived routines in batches."""
        return False

    def response_action(self, request: HttpRequest, *about: Any, **options: Any) -> Any:
        """Django hands whatever was chosen to the database, which takes numbers only."""
        if not all(service.is_id(chosen) for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest(_("Routines are chosen by their ids."))
        return super().response_action(request, *about, **options)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("fleet/", wrap(self.fleet_view), name="routines_fleet"),
            path("fleet/live/", wrap(self.fleet_live_view), name="routines_fleet_live"),
            path("agenda/", wrap(self.agenda_view), name="routines_agenda"),
            path("fleet/plan/", wrap(self.plan_view), name="routines_plan"),
            path("fleet/do/<slug:verb>/", wrap(self.fleet_verb_view), name="routines_fleet_verb"),
            path("health/", wrap(self.health_view), name="routines_health"),
            path("zone/", wrap(require_POST(choose_zone)), name="routines_zone"),
            path("batches/", wrap(self.batches_view), name="routines_batches"),
            path("batches/new/", wrap(self.new_batch_view), name="routines_batch_new"),
            path("batches/<int:batch_id>/", wrap(self.batch_view), name="routines_batch"),
            path("preview/", wrap(self.preview_view), name="routines_routine_preview"),
            path("<int:object_id>/overview/", wrap(self.overview_view), name="routines_routine_overview"),
            path("<int:object_id>/backfill/<slug:batch>/", wrap(self.backfill_view), name="routines_routine_backfill"),
            path(
                "<int:object_id>/backfill/<slug:batch>/live/",
                wrap(self.backfill_live_view),
                name="routines_routine_backfill_live",
            ),
            path("<int:object_id>/copy/", wrap(self.copy_view), name="routines_routine_copy"),
            path("<int:object_id>/do/<slug:verb>/", wrap(self.verb_view), name="routines_routine_verb"),
        ]
        return bounded_urls(own + super().get_urls())

    def fleet_view(self, request: HttpRequest) -> HttpResponse:
        return fleet_page.fleet_page(self, request)

    def fleet_live_view(self, request: HttpRequest) -> HttpResponse:
        return fleet_page.fleet_fragment(self, request)

    def health_view(self, request: HttpRequest) -> HttpResponse:
        self.require_view(request)
        return health_bar.health_fragment(request)

    def plan_view(self, request: HttpRequest) -> HttpResponse:
        return plan_page.plan_page(self, request)

    def agenda_view(self, request: HttpRequest) -> HttpResponse:
        return agenda_page.agenda_page(self, request)

    def fleet_verb_view(self, request: HttpRequest, verb: str) -> HttpResponse:
        return fleet_verbs.queue_verb_page(self, request, verb)

    def batches_view(self, request: HttpRequest) -> HttpResponse:
        return batch_pages.batch_list(self, request)

    def new_batch_view(self, request: HttpRequest) -> HttpResponse:
        return batch_pages.new_batch_page(self, request)

    def batch_view(self, request: HttpRequest, batch_id: int) -> HttpResponse:
        return batch_pages.batch_page(self, request, batch_id)

    @method_decorator(sensitive_post_parameters(*PARTS))
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        if not (self.has_change_permission(request) or self.has_add_permission(request)):
            raise PermissionDenied
        return preview.preview(request, may_view=self.has_view_permission(request))

    def overview_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        return routine_page.routine_page(self, request, object_id)

    def history_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002 - Django's signature
    ) -> HttpResponse:
        """Django's own page knows only what came through the admin."""
        if not service.is_id(object_id):
            raise Http404(_("There is no routine {id}.").format(id=object_id))
        return history.history_page(self, request, int(object_id))

    def backfill_view(self, request: HttpRequest, object_id: int, batch: str) -> HttpResponse:
        return backfill_page.backfill_page(self, request, object_id, batch)

    def backfill_live_view(self, request: HttpRequest, object_id: int, batch: str) -> HttpResponse:
        return backfill_page.backfill_fragment(self, request, object_id, batch)

    @method_decorator(sensitive_post_parameters(*PARTS))
    def copy_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """The form that adds, filled from a routine. A copy carries what is hidden of it: so it is for those who may
        change that too."""
        routine = self.routine_or_404(request, object_id)
        if not may_copy(request):
            raise PermissionDenied
        if rotates(routine):
            told = _("A rotation's own routine is not copied: add a rotation.")
            self.message_user(request, told, messages.WARNING)
            return HttpResponseRedirect(reverse("admin:routines_routine_overview", args=[object_id]))
        request.routine_copied = routine  # type: ignore[attr-defined]
        title = _("Copy {name}").format(name=routine.name)
        return self.changeform_view(request, None, "", {"title": title, "copied": routine})

    @method_decorator(sensitive_post_parameters(*PARTS))
    def verb_view(self, request: HttpRequest, object_id: int, verb: str) -> HttpResponse:
        return verb_pages.verb_page(self, request, object_id, verb)

    def routine_or_404(self, request: HttpRequest, object_id: int) -> Routine:
        """The routine, for someone who may look at it."""
        self.require_view(request)
        found = self.get_queryset(request).filter(pk=object_id).first()
        if found is None:
            raise Http404(_("There is no routine {id}.").format(id=object_id))
        return found

    def require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    def response_add(self, request: HttpRequest, obj: Routine, post_url_continue: str | None = None) -> HttpResponse:
        return self._to_overview(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Routine) -> HttpResponse:
        return self._to_overview(request, obj) or super().response_change(request, obj)

    def _to_overview(self, request: HttpRequest, obj: Routine) -> HttpResponse | None:
        """After saving, look at the routine; the other buttons do what they do everywhere in the admin."""
        if {"_continue", "_addanother", "_saveasnew", "_popup"} & request.POST.keys():
            return None
        self.message_user(request, _("Saved {name}.").format(name=obj.name))
        return HttpResponseRedirect(reverse("admin:routines_routine_overview", args=[obj.pk]))
