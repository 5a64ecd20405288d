"""Runs in the admin: the ledger as a list, read-only, and the way to the page of one run."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin import run_page
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.filters import ReasonFilter
from routines_app.admin.markup import NOTHING, moment, pill
from routines_app.admin.paging import CappedPaginator
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.run_facts import lateness_of, length_of, run_url
from routines_app.admin.saved_filters import SavedFilters
from routines_app.models import RoutineRun

SHOWN_WITH = ["routine__rotates", "pool", "rotation__routine"]


@admin.register(RoutineRun)
class RunAdmin(SavedFilters):
    """Runs are written by the machinery only; people look, cancel and ask for more."""

    list_display = ["outcome", "routine_name", "slot", "fired_by", "attempt", "late", "took", "worker"]
    list_display_links = None
    list_filter = ["status", "trigger", ReasonFilter]
    search_fields = ["=routine__name", "=id"]
    search_help_text = "A routine's name, or a run's id"
    list_select_related = ["routine"]
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = CappedPaginator
    ordering = ["-id"]
    sortable_by = ()
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoutineRun]:
        runs = super().get_queryset(request).select_related("routine", "rotation__routine")
        return runs.defer(*service.LARGE_FIELDS, "progress")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:  # noqa: ARG002
        """By id or by exact name: a part of a name would read millions of rows."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if not service.is_storable(term):
            return queryset.none(), False
        try:
            return queryset.filter(pk=uuid.UUID(term)), False
        except ValueError:
            return queryset.filter(routine__name=term), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"section": "runs", **(extra_context or {})})

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("<uuid:run_id>/change/", wrap(self.page_view), name="routines_routinerun_change"),
            path("<uuid:run_id>/live/", wrap(self.live_view), name="routines_routinerun_live"),
            path("<uuid:run_id>/cancel/", wrap(self.cancel_view), name="routines_routinerun_cancel"),
            path("<uuid:run_id>/abandon/", wrap(self.abandon_view), name="routines_routinerun_abandon"),
            path("<uuid:run_id>/retry/", wrap(self.retry_view), name="routines_routinerun_retry"),
        ]
        return bounded_urls(own + super().get_urls())

    def page_view(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        return run_page.run_page(self, request, run_id)

    def live_view(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        return run_page.run_fragment(self, request, run_id)

    def cancel_view(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        return run_page.cancel_page(self, request, run_id)

    def abandon_view(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        return run_page.abandon_page(self, request, run_id)

    def retry_view(self, request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
        return run_page.retry(self, request, run_id)

    def run_or_404(self, request: HttpRequest, run_id: uuid.UUID) -> RoutineRun:
        """The run with its routine, for someone who may look at it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = RoutineRun.objects.select_related(*SHOWN_WITH).filter(pk=run_id).first()
        if found is None:
            raise Http404(f"There is no run {run_id}; it may have been pruned.")
        return found

    @admin.display(description="outcome")
    def outcome(self, run: RoutineRun) -> SafeString:
        reason = format_html(' <span class="rt-quiet">{}</span>', run.get_reason_display()) if run.reason else ""
        return format_html('<a class="rt-plain-link" href="{}">{}</a>{}', run_url(run), pill(run.status), reason)

    @admin.display(description="routine")
    def routine_name(self, run: RoutineRun) -> SafeString:
        page = reverse("admin:routines_routine_overview", args=[run.routine_id])
        return format_html('<a href="{}">{}</a>', page, run.routine.name)

    @admin.display(description="slot")
    def slot(self, run: RoutineRun) -> SafeString:
        many = format_html(' <span class="rt-chip">{} slots</span>', run.occurrences) if run.occurrences > 1 else ""
        return format_html("{}{}", moment(run.scheduled_for), many)

    @admin.display(description="trigger")
    def fired_by(self, run: RoutineRun) -> SafeString | str:
        """Of a rotation's run also which rotation, and which phase."""
        if run.rotation is None:
            return run.get_trigger_display()
        page = reverse("admin:routines_rotation_overview", args=[run.rotation_id])
        phase = format_html(' <span class="rt-chip">{}</span>', run.phase) if run.phase else ""
        under = format_html('<div class="rt-under"><a href="{}">{}</a>{}</div>', page, run.rotation.name, phase)
        return format_html("{}{}", run.get_trigger_display(), under)

    @admin.display(description="late by")
    def late(self, run: RoutineRun) -> SafeString | str:
        late = lateness_of(run)
        return NOTHING if late is None else seconds_in_words(late)

    @admin.display(description="took")
    def took(self, run: RoutineRun) -> SafeString | str:
        length = length_of(run, service.now())
        return NOTHING if length is None else seconds_in_words(length)
