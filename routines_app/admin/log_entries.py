"""The admin's own history: who did what to which object, and why. It is kept in English, for whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest


def note(request: HttpRequest, thing: Model, done: str, reason: str = "") -> None:
    """Write one entry. The verbs' sentences carry no argument values, so no secret gets in here."""
    LogEntry.objects.log_actions(
        user_id=str(request.user.pk),
        queryset=[thing],
        action_flag=CHANGE,
        change_message=_message(done, reason),
        single_object=True,
    )


def note_each(request: HttpRequest, things: Sequence[tuple[Model, str]], reason: str = "") -> None:
    """The same for many, in one statement: what was done of each."""
    if not things:
        return
    kind = ContentType.objects.get_for_model(things[0][0])
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=str(request.user.pk),
            content_type=kind,
            object_id=str(thing.pk),
            object_repr=str(thing)[:200],
            action_flag=CHANGE,
            change_message=_message(done, reason),
        )
        for thing, done in things
    )


def note_of_all(request: HttpRequest, model: type[Model], called: str, done: str, reason: str = "") -> None:
    """An entry about many objects of a kind, which only their common name tells."""
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(model),
        object_repr=called[:200],
        action_flag=CHANGE,
        change_message=_message(done, reason),
    )


def _message(done: str, reason: str) -> str:
    return f"{done}. Why: {reason}" if reason else f"{done}."


def actor_of(request: HttpRequest) -> str:
    """The name that the service's audit trail gets."""
    return request.user.get_username()
