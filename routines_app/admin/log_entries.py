"""The admin's own history: who did what to which object, and why."""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.http import HttpRequest


def note(request: HttpRequest, thing: Model, done: str, reason: str = "") -> None:
    """Write one entry. The verbs' sentences carry no argument values, so no secret gets in here."""
    message = f"{done}. Why: {reason}" if reason else f"{done}."
    LogEntry.objects.log_actions(
        user_id=str(request.user.pk),
        queryset=[thing],
        action_flag=CHANGE,
        change_message=message,
        single_object=True,
    )


def actor_of(request: HttpRequest) -> str:
    """The name that the service's audit trail gets."""
    return request.user.get_username()
