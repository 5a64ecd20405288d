"""The actions of the routines list: the verbs, for many routines at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from routines_app import service
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.refusals import refuse
from routines_app.admin.verb_acts import SECONDS, Undone
from routines_app.admin.verb_buttons import VERBS, Verb
from routines_app.admin.verb_forms import VerbForm
from routines_app.admin.verb_pages import CHOSEN, NAMED, ask_for_many, in_words, what_it_is
from routines_app.core.errors import NotAllowed, RoutineError
from routines_app.models import Routine

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

AT_ONCE = 1_000  # more than this is a job for the command line, not for one web request

Action = Callable[["RoutineAdmin", HttpRequest, QuerySet[Routine]], HttpResponse | None]


class ReasonActionForm(ActionForm):
    """The action's own form asks why, for the actions that have no page of their own."""

    reason = forms.CharField(
        label="Why:", required=False, max_length=500, widget=forms.TextInput(attrs={"placeholder": "optional reason"})
    )


def list_action(slug: str, *, permission: str, asks: bool) -> Action:
    """The action of a verb; one that `asks` shows its page first."""
    verb = VERBS[slug]

    @admin.action(description=f"{verb.label}{' …' if asks else ''}", permissions=[permission])
    def action(site: RoutineAdmin, request: HttpRequest, chosen: QuerySet[Routine]) -> HttpResponse | None:
        routines = list(_confirmed(site, request, chosen).select_related("state", "rotates")[: AT_ONCE + 1])
        if not routines:
            site.message_user(request, "None of the chosen routines exists any more.", messages.ERROR)
            return None
        if len(routines) > AT_ONCE:
            site.message_user(request, f"Choose at most {AT_ONCE:,} routines at once.", messages.ERROR)
            return None
        form = _form(verb, request, asks=asks)
        if not form.is_bound or not form.is_valid():
            return ask_for_many(site, request, verb, form, routines)
        return _do_all(site, request, verb, form, routines)

    action.__name__ = f"{slug.replace('-', '_')}_routines"
    return action


def _confirmed(site: RoutineAdmin, request: HttpRequest, chosen: QuerySet[Routine]) -> QuerySet[Routine]:
    """After a confirmation exactly those that it showed: a filter may match others by now."""
    if CHOSEN not in request.POST:
        return chosen
    shown = [text for text in request.POST[CHOSEN].split(",")[: AT_ONCE + 1] if service.is_id(text)]
    return site.get_queryset(request).filter(pk__in=shown)


def _form(verb: Verb, request: HttpRequest, *, asks: bool) -> VerbForm:
    if asks:
        return verb.form(request.POST if "confirmed" in request.POST else None)
    return VerbForm({"reason": request.POST.get("reason", "")})


def _do_all(
    site: RoutineAdmin, request: HttpRequest, verb: Verb, form: Any, routines: list[Routine]
) -> HttpResponse | None:
    done, refusals, left = [], [], list[Routine]()
    until = time.monotonic() + SECONDS
    for place, routine in enumerate(routines):
        if place and time.monotonic() > until:  # always one, or nothing would ever move on
            left = routines[place:]
            break
        name = routine.name
        try:
            _refuse_kind(verb, routine)
            said = verb.act(routine, form.wants, actor_of(request))
        except RoutineError as refused:
            refusals.append((name, refused))
            continue
        done.append(said)
        if not isinstance(said, Undone):
            note(request, routine, said, form.wants.get("reason", ""))
    if refusals and not done and refusals[0][1].field in form.fields:
        refuse(form, refusals[0][1])
        return ask_for_many(site, request, verb, form, routines)
    _tell(site, request, verb, done, refusals)
    if not left:
        return None
    site.message_user(request, f"{len(left):,} routines are left: confirm to go on with them.", messages.WARNING)
    return ask_for_many(site, request, verb, form, left)


def _refuse_kind(verb: Verb, routine: Routine) -> None:
    """In the words of its page. Which statuses a verb is for, the service says: among many some may differ."""
    if not verb.fits_kind(routine):
        raise NotAllowed("routine", routine.name, f"{verb.label} is not for {what_it_is(verb, routine)}")


def _tell(
    site: RoutineAdmin, request: HttpRequest, verb: Verb, done: list[str], refusals: list[tuple[str, RoutineError]]
) -> None:
    for level, said in in_words(verb.done, "routines", done):
        site.message_user(request, said, level)
    if refusals:
        named = "; ".join(f"{name}: {refused.expected}" for name, refused in refusals[:NAMED])
        more = f"; and {len(refusals) - NAMED:,} more" if len(refusals) > NAMED else ""
        site.message_user(request, f"{verb.label} was refused for {named}{more}.", messages.WARNING)


LIST_ACTIONS = [
    list_action("run", permission="run", asks=False),
    list_action("pause", permission="pause", asks=True),
    list_action("resume", permission="pause", asks=True),
    list_action("reset", permission="reset", asks=False),
    list_action("hint-factor", permission="hint", asks=True),
    list_action("clear-hints", permission="hint", asks=False),
    list_action("archive", permission="archive", asks=True),
]
