"""Saved filters in the admin: links above a list, each to what the list was asked for.

For oneself, or, with the permission `share_savedfilter`, for everybody. Kept is only what the list's own filters, its
search and its order understand; the list looks at it again whenever it is opened.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from routines_app import service
from routines_app.admin.log_entries import actor_of
from routines_app.admin.own_filters import OwnFiltersOnly
from routines_app.admin.permissions import may
from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError
from routines_app.models import EVERYBODY

SHARE = "share_savedfilter"


class SavedFilters(OwnFiltersOnly):
    """A list whose filters can be saved."""

    def get_urls(self) -> list[URLPattern]:
        wrap, name = self.admin_site.admin_view, f"routines_{self.opts.model_name}"
        own = [
            path("filters/save/", wrap(require_POST(self.save_filter_view)), name=f"{name}_save_filter"),
            path("filters/remove/", wrap(require_POST(self.remove_filter_view)), name=f"{name}_remove_filter"),
        ]
        return own + super().get_urls()

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "GET" and self.has_view_permission(request):
            extra_context = {"saved_filters": self._shown(request), **(extra_context or {})}
        return super().changelist_view(request, extra_context)

    def save_filter_view(self, request: HttpRequest) -> HttpResponse:
        self._require_view(request)
        query, is_shared = self._kept(request, request.POST.get("query", "")), "shared" in request.POST
        if is_shared and not may(request, SHARE):
            raise PermissionDenied
        owner = EVERYBODY if is_shared else _owner(request)
        try:
            made = service.save_filter(
                self._listed, request.POST.get("name", ""), query, owner=owner, actor=actor_of(request)
            )
        except RoutineError as refused:
            self.message_user(request, _("Not saved: {why}").format(why=translated(refused)), messages.ERROR)
        else:
            self.message_user(request, _("Saved the filter {name}.").format(name=made.name), messages.SUCCESS)
        return HttpResponseRedirect(f"{self._address}?{query}")

    def remove_filter_view(self, request: HttpRequest) -> HttpResponse:
        self._require_view(request)
        chosen = request.POST.get("filter", "")
        owners = [_owner(request), *([EVERYBODY] if may(request, SHARE) else [])]
        gone = service.remove_filter(self._listed, int(chosen), owners=owners) if service.is_id(chosen) else None
        if gone is None:
            self.message_user(request, _("That filter is not there any more, or not yours."), messages.WARNING)
        else:
            self.message_user(request, _("Removed the filter {name}.").format(name=gone.name), messages.SUCCESS)
        return HttpResponseRedirect(self._address)

    def _shown(self, request: HttpRequest) -> dict[str, Any]:
        query, may_share = self._kept(request, request.META.get("QUERY_STRING", "")), may(request, SHARE)
        found = service.saved_filters(self._listed, _owner(request))
        return {
            "links": [
                {"row": row, "is_here": row.query == query, "is_shared": row.owner == EVERYBODY} for row in found
            ],
            "removable": [row for row in found if row.owner != EVERYBODY or may_share],
            "query": query,
            "may_share": may_share,
            "save_url": reverse(f"admin:routines_{self.opts.model_name}_save_filter"),
            "remove_url": reverse(f"admin:routines_{self.opts.model_name}_remove_filter"),
        }

    def _kept(self, request: HttpRequest, query: str) -> str:
        """What of an address is the list's own; pages, pop-ups and what nobody knows are left out."""
        known = self.filter_parameters(request) | {SEARCH_VAR, ORDER_VAR}
        given = parse_qsl(query[: service.LONGEST_ADDRESS])
        return urlencode(sorted(pair for pair in given if pair[0] in known and service.is_storable(pair[1])))

    def _require_view(self, request: HttpRequest) -> None:
        if not self.has_view_permission(request):
            raise PermissionDenied

    @property
    def _listed(self) -> str:
        return str(self.opts.model_name)

    @property
    def _address(self) -> str:
        return reverse(f"admin:routines_{self._listed}_changelist")


def _owner(request: HttpRequest) -> str:
    return str(request.user.pk)
