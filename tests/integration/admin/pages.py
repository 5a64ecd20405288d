"""Addresses of the admin, and what its answers say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch

from django.contrib.admin.models import LogEntry
from django.template import engines
from django.template.response import SimpleTemplateResponse
from django.test import Client
from django.urls import reverse

from routines_app.models import Rotation, Routine, RoutineRun

LIST = "admin:routines_routine_changelist"


def list_url() -> str:
    return reverse(LIST)


def overview_url(routine: Routine) -> str:
    return reverse("admin:routines_routine_overview", args=[routine.pk])


def verb_url(routine: Routine, verb: str) -> str:
    return reverse("admin:routines_routine_verb", args=[routine.pk, verb])


def rotation_url(rotation: Rotation, query: str = "") -> str:
    return reverse("admin:routines_rotation_overview", args=[rotation.pk]) + query


def run_url(run: RoutineRun, page: str = "change") -> str:
    return reverse(f"admin:routines_routinerun_{page}", args=[run.pk])


def act(client: Client, action: str, *routines: Routine, **more: Any) -> Any:
    """Choose routines in the list and an action for them."""
    chosen = [routine.pk for routine in routines]
    data = {"action": f"{action}_routines", "_selected_action": chosen, "select_across": "0", **more}
    return client.post(list_url(), data, follow=True)


def told(response: Any) -> list[str]:
    """The messages that the person sees."""
    return [str(message) for message in response.context["messages"]]


def last_entry() -> LogEntry:
    """The newest entry of the admin's history."""
    return LogEntry.objects.latest("id")


def text_of(client: Client, address: str) -> str:
    """What a page says, without its line breaks."""
    return " ".join(client.get(address).content.decode().split())


def shown_in(page: Any) -> dict[str, str]:
    """What the form of a page sends back as it is."""
    return _Filled.of(page)


def press(client: Client, address: str, **typed: str) -> Any:
    """Open a page and press its button: what a browser would send, with what is typed."""
    return client.post(address, shown_in(client.get(address)) | typed, follow=True)


class _Filled(HTMLParser):
    """The fields of the form that acts: a select without a selected option sends its first."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.select = ""
        self.values: dict[str, str] = {}

    @classmethod
    def of(cls, page: Any) -> dict[str, str]:
        filled = cls()
        filled.feed(page.content.decode())
        return filled.values

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self.inside = given.get("class") == "rt-form"
        elif self.inside and tag == "input" and name:
            self.values[name] = value
        elif self.inside and tag == "select":
            self.select = name
        elif self.inside and tag == "option" and ("selected" in given or self.select not in self.values):
            self.values[self.select] = value


@contextmanager
def unrendered() -> Iterator[None]:
    """Pages have their context and no text: nine tenths of a page's time go into writing out its fields."""
    blank = engines["django"].from_string("")
    with patch.object(SimpleTemplateResponse, "resolve_template", lambda *_: blank):
        yield
