"""Searching the routines list: one query, by an index, whatever the number of routines."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.text import smart_split, unescape_string_literal
from django.utils.translation import gettext as _

from routines_app import service

FIELDS = ("name", "task", "group")


class RoutineSearch(admin.ModelAdmin):  # type: ignore[type-arg]
    """Every word of a search must be in a name, a task or a group: anywhere in it where PostgreSQL has the index for
    that (`manage.py routines index-search`), else at its beginning. The field says which. How much may be searched for
    is bounded before (`bounds.py`)."""

    search_fields = FIELDS

    @property
    def search_help_text(self) -> str:  # type: ignore[override]
        if service.finds_parts():
            return _("Search by any part of name, task or group")
        return _("Search by how name, task or group begins")

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:  # noqa: ARG002
        words = [_unquoted(word) for word in smart_split(search_term)]
        parts = service.finds_parts(anew=bool(words))
        return queryset.filter(*(_has(word, parts=parts) for word in words)), False


def _has(word: str, *, parts: bool) -> Q:
    how = "icontains" if parts and len(word) >= service.TRIGRAM else "istartswith"
    return reduce(or_, (Q(**{f"{field}__{how}": word}) for field in FIELDS))


def _unquoted(word: str) -> str:
    """Quotes keep words together, as in every search of the admin."""
    return unescape_string_literal(word) if word[:1] in "\"'" and word[:1] == word[-1:] and len(word) > 1 else word
