"""Addresses of the admin, and what its answers say."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from routines_app.models import Routine, RoutineRun

LIST = "admin:routines_routine_changelist"


def list_url() -> str:
    return reverse(LIST)


def overview_url(routine: Routine) -> str:
    return reverse("admin:routines_routine_overview", args=[routine.pk])


def verb_url(routine: Routine, verb: str) -> str:
    return reverse("admin:routines_routine_verb", args=[routine.pk, verb])


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
