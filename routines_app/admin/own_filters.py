"""What a list may be filtered by through its address."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from routines_app.admin.bounds import BoundedSearch


class OwnFiltersOnly(BoundedSearch):
    """Django lets any column be filtered by: `?kwargs__password__startswith=h` would tell a viewer, letter by letter,
    what the pages mask, and `?traceback__regex=…` would read millions of rows. Only the list's own filters are left.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:  # noqa: ARG002
        filters = self.list_filter if request is None else self.get_list_filter(request)
        return any(lookup in _parameters(one) for one in filters)


def _parameters(list_filter: Any) -> set[str]:
    """The names that a filter has in the address: its own, or those of a field with choices."""
    if isinstance(list_filter, str):
        return {f"{list_filter}__exact", f"{list_filter}__isnull"}
    return {list_filter.parameter_name}
