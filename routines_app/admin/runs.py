"""Runs in the admin: the ledger as a list, read-only, and the way to the page of one run."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from routines_app import service
from routines_app.admin import run_groups, run_many, run_page
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.markup import NOTHING, moment, pill
from routines_app.admin.permissions import may
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.run_actions import RUN_ACTIONS
from routines_app.admin.run_changelist import RunChangeList
from routines_app.admin.run_facts import lateness_of, length_of, run_url
from routines_app.admin.run_listing import ROWS
from routines_app.admin.run_many import read_ids
from routines_app.admin.run_question import CURSORS, OLDER_NAMES, OWN
from routines_app.admin.saved_filters import SavedFilters
from routines_app.models import RoutineRun

LINE = 120  # characters of an error in the list
SHOWN_WITH = ["routine__rotates", "pool", "rotation__routine"]


@admin.register(RoutineRun)
class RunAdmin(SavedFilters):
    """Runs are written by the machinery only; people look, cancel and ask for more."""

    list_display = ["outcome", "routine_name", "slot", "fired_by", "attempt", "late", "took", "worker", "error_line"]
    list_display_links = None
    list_select_related = ["routine"]
    list_per_page = ROWS
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["id"]  # for the form above the list, which stands in the place of Django's search
    ordering = ["-id"]
    sortable_by = ()
    actions = RUN_ACTIONS

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoutineRun]:
        runs = super().get_queryset(request).select_related("routine", "rotation__routine")
        return runs.defer(*service.LARGE_FIELDS, "progress")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return RunChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        offered = {
            "section": "runs",
            "may_retry": self.has_run_permission(request),
            "may_cancel": self.has_cancel_permission(request),
        }
        return super().changelist_view(request, offered | (extra_context or {}))

    def response_action(self, request: HttpRequest, *about: Any, **options: Any) -> Any:
        """Django hands whatever was chosen to the database, which takes ids only."""
        try:
            read_ids(",".join(request.POST.getlist(ACTION_CHECKBOX_NAME)))
        except ValueError:
            raise BadRequest(_("Runs are chosen by their ids.")) from None
        return super().response_action(request, *about, **options)

    def filter_parameters(self, request: HttpRequest | None = None) -> set[str]:
        """Those of the form above the list; a saved filter keeps them, but not where somebody has paged to."""
        return {*super().filter_parameters(request), *OWN, *OLDER_NAMES} - {*CURSORS}

    def has_run_permission(self, request: HttpRequest) -> bool:
        return may(request, "run_routine")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return may(request, "cancel_routinerun")

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        return False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("errors/", wrap(self.groups_view), name="routines_run_groups"),
            path("many/<slug:verb>/", wrap(self.many_view), name="routines_run_many"),
            path("<uuid:run_id>/change/", wrap(self.page_view), name="routines_routinerun_change"),
            path("<uuid:run_id>/live/", wrap(self.live_view), name="routines_routinerun_live"),
            path("<uuid:run_id>/cancel/", wrap(self.cancel_view), name="routines_routinerun_cancel"),
            path("<uuid:run_id>/abandon/", wrap(self.abandon_view), name="routines_routinerun_abandon"),
            path("<uuid:run_id>/retry/", wrap(self.retry_view), name="routines_routinerun_retry"),
        ]
        return bounded_urls(own + super().get_urls())

    def groups_view(self, request: HttpRequest) -> HttpResponse:
        return run_groups.groups_page(self, request)

    def many_view(self, request: HttpRequest, verb: str) -> HttpResponse:
        return run_many.many_page(self, request, verb)

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
            raise Http404(_("There is no run {id}; it may have been pruned.").format(id=run_id))
        return found

    @admin.display(description=gettext_lazy("outcome"))
    def outcome(self, run: RoutineRun) -> SafeString:
        reason = format_html(' <span class="rt-quiet">{}</span>', run.get_reason_display()) if run.reason else ""
        return format_html('<a class="rt-plain-link" href="{}">{}</a>{}', run_url(run), pill(run.status), reason)

    @admin.display(description=gettext_lazy("routine"))
    def routine_name(self, run: RoutineRun) -> SafeString:
        page = reverse("admin:routines_routine_overview", args=[run.routine_id])
        return format_html('<a href="{}">{}</a>', page, run.routine.name)

    @admin.display(description=gettext_lazy("slot"))
    def slot(self, run: Any) -> SafeString:
        count = run.occurrences
        slots = ngettext("{count} slot", "{count} slots", count).format(count=count)
        many = format_html(' <span class="rt-chip">{}</span>', slots) if count > 1 else ""
        asked = format_html(' <span class="rt-chip rt-asked">{}</span>', _("this slot")) if run.is_asked_slot else ""
        return format_html("{}{}{}", moment(run.scheduled_for), many, asked)

    @admin.display(description=gettext_lazy("trigger"))
    def fired_by(self, run: RoutineRun) -> SafeString | str:
        """Of a rotation's run also which rotation, and which phase."""
        if run.rotation is None:
            return run.get_trigger_display()
        page = reverse("admin:routines_rotation_overview", args=[run.rotation_id])
        phase = format_html(' <span class="rt-chip">{}</span>', run.phase) if run.phase else ""
        under = format_html('<div class="rt-under"><a href="{}">{}</a>{}</div>', page, run.rotation.name, phase)
        return format_html("{}{}", run.get_trigger_display(), under)

    @admin.display(description=gettext_lazy("late by"))
    def late(self, run: RoutineRun) -> SafeString | str:
        late = lateness_of(run)
        return NOTHING if late is None else seconds_in_words(late)

    @admin.display(description=gettext_lazy("took"))
    def took(self, run: RoutineRun) -> SafeString | str:
        length = length_of(run, service.now())
        return NOTHING if length is None else seconds_in_words(length)

    @admin.display(description=gettext_lazy("error"))
    def error_line(self, run: Any) -> SafeString | str:
        """What the run's page shows in full, masked as there."""
        line = service.error_line(run.error_start)
        return format_html('<span class="rt-error-line">{}</span>', Truncator(line).chars(LINE)) if line else NOTHING
