"""What a list may be asked through its address: its own filters, with text that a database can hold."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.bounds import BoundedSearch


class OwnFiltersOnly(BoundedSearch):
    """Django lets any column be filtered by: `?kwargs__password__startswith=h` would tell a viewer, letter by letter,
    what the pages mask, and `?traceback__regex=…` would read millions of rows. Only the list's own filters are left.

    It also hands any text to the database, and PostgreSQL raises at a NUL character instead of finding nothing.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:  # noqa: ARG002
        return lookup in self.filter_parameters(request)

    def filter_parameters(self, request: HttpRequest | None = None) -> set[str]:
        """The names in the address that the list's own filters answer to."""
        filters = self.list_filter if request is None else self.get_list_filter(request)
        return {name for one in filters for name in _parameters(one)}

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        asked = [text for name, values in request.GET.lists() for text in (name, *values)]
        if not all(service.is_storable(text) for text in asked):
            told = _("No text has a NUL character: the list is shown without filters.")
            self.message_user(request, told, messages.ERROR)
            raise IncorrectLookupParameters
        return super().get_changelist_instance(request)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """By its id; an empty `_to_field` in the address names no other column."""
        return super().get_object(request, object_id, from_field or None)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        if not service.is_storable(search_term):
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)


def _parameters(list_filter: Any) -> set[str]:
    """The names that a filter has in the address: its own, or those of a field with choices."""
    if isinstance(list_filter, str):
        return {f"{list_filter}__exact", f"{list_filter}__isnull"}
    return set(getattr(list_filter, "parameter_names", (list_filter.parameter_name,)))
