"""Rotations in the admin: the list, the form, and the way to the pages of one rotation."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app.admin import rotation_page, rotation_verb_pages
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.own_filters import OwnFiltersOnly
from routines_app.admin.paging import CappedPaginator
from routines_app.admin.rotation_form_page import RotationFormPage
from routines_app.admin.rotation_list import RotationChangeList, RotationColumns, StatusFilter
from routines_app.models import Rotation


@admin.register(Rotation)
class RotationAdmin(RotationColumns, OwnFiltersOnly, RotationFormPage):
    """The list shows how fresh each rotation keeps its members; its name leads to its page."""

    list_display = ["title", "state_pill", "schedule", "next_tick", "idle"]
    list_display += ["members", "owed", "in_flight", "failing", "stalest"]
    list_display_links = None
    list_filter = [StatusFilter]
    search_fields = ["routine__name"]
    search_help_text = gettext_lazy("Search by name")
    list_per_page = 25
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = CappedPaginator
    ordering = ["routine__name"]
    sortable_by = ["title", "next_tick"]
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rotation]:
        return super().get_queryset(request).select_related("routine__state")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return RotationChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"section": "rotations", **(extra_context or {})})

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """It is archived; its own routine can then be deleted, in batches."""
        return False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("<int:object_id>/overview/", wrap(self.overview_view), name="routines_rotation_overview"),
            path("<int:object_id>/live/", wrap(self.live_view), name="routines_rotation_live"),
            path("<int:object_id>/members/", wrap(self.members_view), name="routines_rotation_members"),
            path("<int:object_id>/do/<slug:verb>/", wrap(self.verb_view), name="routines_rotation_verb"),
        ]
        return bounded_urls(own + super().get_urls())

    def overview_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        return rotation_page.rotation_page(self, request, object_id)

    def live_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        return rotation_page.rotation_fragment(self, request, object_id)

    def members_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        return rotation_verb_pages.members_page(self, request, object_id)

    def verb_view(self, request: HttpRequest, object_id: int, verb: str) -> HttpResponse:
        return rotation_verb_pages.rotation_verb_page(self, request, object_id, verb)

    def rotation_or_404(self, request: HttpRequest, object_id: int) -> Rotation:
        """The rotation with its routine, for someone who may look at it."""
        self.require_view(request)
        found = self.get_queryset(request).filter(pk=object_id).first()
        if found is None:
            raise Http404(_("There is no rotation {id}.").format(id=object_id))
        return found

    def require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied
