"""What a request may bring, looked at before anything is done with it, and how long it waits for others: a moment."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.contrib.messages.storage.base import BaseStorage
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.page_zone import in_page_zone
from routines_app.admin.translating import grouped

View = Callable[..., HttpResponse]


def bounded_urls(patterns: list[URLPattern]) -> list[URLPattern]:
    """The same addresses, whose views refuse addresses and forms that no page of ours sends, and whose verbs wait only
    for a moment for a row that somebody holds. Each shows times in the zone of its page."""
    for pattern in patterns:
        pattern.callback = _bounded(in_page_zone(pattern.callback))
    return patterns


class _Unread(BaseStorage):
    """A page that a script asks for shows nobody a message: those that wait are for the person's next page."""

    def _get(self, *_: Any, **__: Any) -> tuple[list[Any], bool]:
        return [], True

    def _store(self, messages: Any, response: HttpResponse, *_: Any, **__: Any) -> list[Any]:  # noqa: ARG002
        return []


def _bounded(view: View) -> View:
    @wraps(view)
    def bounded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.headers.get("X-Requested-With") == "fetch":
            request._messages = _Unread(request)  # type: ignore[attr-defined]
        with service.impatiently():
            return refusal_of(request) or view(request, *args, **kwargs)

    return bounded


def refusal_of(request: HttpRequest, longest_form: int | None = None) -> HttpResponse | None:
    """What to answer to a request that is too large; None when it is not."""
    most = longest_form or service.LONGEST_FORM + 2 * service.longest_json()
    if len(request.META.get("QUERY_STRING", "")) > service.LONGEST_ADDRESS:
        told = _("The address is too long: give at most {most} characters after the ?.")
        return _said(told.format(most=grouped(service.LONGEST_ADDRESS)), 414)
    if sum(len(value) for _name, values in request.POST.lists() for value in values) > most:
        return _said(_("The form is too large: give at most {most} characters.").format(most=grouped(most)), 413)
    return None


def _said(sentence: str, status: int) -> HttpResponse:
    return HttpResponse(sentence, content_type="text/plain; charset=utf-8", status=status)


class BoundedSearch(admin.ModelAdmin):  # type: ignore[type-arg]
    """Each word of a search is looked for in every row of a list: there may be only so many."""

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        if len(search_term) <= service.LONGEST_SEARCH and len(search_term.split()) <= service.SEARCH_WORDS:
            return super().get_search_results(request, queryset, search_term)
        told = _("Nothing was searched for: give at most {characters} characters and {words} words.")
        told = told.format(characters=service.LONGEST_SEARCH, words=service.SEARCH_WORDS)
        self.message_user(request, told, messages.WARNING)
        return queryset.none(), False
