"""The routines that a list shows, by the list's own address: for what is done to all of them."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from django.contrib.admin import ListFilter, SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ALL_VAR, ERROR_FLAG, ORDER_VAR, PAGE_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.models import Routine

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

NO_FILTER = (ALL_VAR, ERROR_FLAG, ORDER_VAR, PAGE_VAR)


def filter_text(address: str) -> str:
    """What follows the ? in the list's address, without its page and its order: these choose nothing."""
    wanted = QueryDict(address.removeprefix("?"), mutable=True)
    for name in NO_FILTER:
        wanted.pop(name, None)
    return wanted.urlencode()


def filtered(admin: RoutineAdmin, request: HttpRequest, text: str) -> QuerySet[Routine]:
    """All that the list finds by this filter, in no order."""
    asked = copy(request)
    asked.GET = QueryDict(text)
    try:
        shown = admin.get_changelist_instance(asked)
    except IncorrectLookupParameters as error:
        raise InvalidValue("filter", text, said("open the list again, and choose what it offers")) from error
    if any(_is_passed_over(spec) for spec in shown.filter_specs):
        raise InvalidValue("filter", text, said("open the list again, and choose what it offers"))
    found: QuerySet[Routine] = shown.queryset
    return found.order_by().select_related(None)


def _is_passed_over(spec: ListFilter) -> bool:
    """Whether the list shows all because it does not know what is asked for: what is meant cannot be all then."""
    if not isinstance(spec, SimpleListFilter) or not spec.value():
        return False
    return spec.value() not in [str(value) for value, _ in spec.lookup_choices]
