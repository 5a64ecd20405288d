"""The actions of the routines list: the verbs, for many routines at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from routines_app import service
from routines_app.admin.log_entries import actor_of, note_each
from routines_app.admin.refusals import refuse
from routines_app.admin.translating import grouped
from routines_app.admin.verb_acts import SECONDS, Undone, Wants
from routines_app.admin.verb_buttons import VERBS, Verb
from routines_app.admin.verb_forms import VerbForm
from routines_app.admin.verb_pages import CHOSEN, ask_for_many, in_words, not_for, refused_in_words, url_of_run
from routines_app.core.errors import Held, NotAllowed, RoutineError
from routines_app.core.said import Said, said_of
from routines_app.models import Routine

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

PIECE = 200  # routines that a verb for many does at a time; then the clock is looked at
AT_ONCE = 1_000  # more than this is a job for the command line, not for one web request
DONE: dict[str, Callable[[int], Said]] = {
    "run": lambda n: said_of(n, "Asked for a run of {count:,} routine", "Asked for runs of {count:,} routines"),
    "pause": lambda n: said_of(n, "Paused {count:,} routine", "Paused {count:,} routines"),
    "resume": lambda n: said_of(n, "Resumed {count:,} routine", "Resumed {count:,} routines"),
    "reset": lambda n: said_of(n, "Reset {count:,} routine", "Reset {count:,} routines"),
    "hint-factor": lambda n: said_of(n, "Hinted {count:,} routine", "Hinted {count:,} routines"),
    "clear-hints": lambda n: said_of(
        n, "Cleared the hints of {count:,} routine", "Cleared the hints of {count:,} routines"
    ),
    "archive": lambda n: said_of(n, "Archived {count:,} routine", "Archived {count:,} routines"),
}
"""That so many were done; of one its verb says more."""

Action = Callable[["RoutineAdmin", HttpRequest, QuerySet[Routine]], HttpResponse | None]


class ReasonActionForm(ActionForm):
    """The action's own form asks why, for the actions that have no page of their own."""

    reason = forms.CharField(
        label=gettext_lazy("Why:"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": gettext_lazy("optional reason")}),
    )


def list_action(slug: str, *, permission: str, asks: bool) -> Action:
    """The action of a verb; one that `asks` shows its page first."""
    verb = VERBS[slug]
    label = format_lazy("{} …", verb.label) if asks else verb.label

    @admin.action(description=label, permissions=[permission])
    def action(site: RoutineAdmin, request: HttpRequest, chosen: QuerySet[Routine]) -> HttpResponse | None:
        routines = list(_confirmed(site, request, chosen).select_related("state", "rotates")[: AT_ONCE + 1])
        if not routines:
            site.message_user(request, _("None of the chosen routines exists any more."), messages.ERROR)
            return None
        if len(routines) > AT_ONCE:
            too_many = _("Choose at most {most} routines at once.").format(most=grouped(AT_ONCE))
            site.message_user(request, too_many, messages.ERROR)
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
    done, refusals, place = list[Said](), list[tuple[str, RoutineError]](), 0
    until = time.monotonic() + SECONDS
    while place < len(routines) and (not place or time.monotonic() <= until):  # always some, or nothing would move on
        piece = routines[place : place + (PIECE if verb.act_on_many else 1)]
        place += len(piece)
        names = [routine.name for routine in piece]
        outcomes = _outcomes(verb, piece, form.wants, actor_of(request))
        refusals += [(name, one) for name, one in zip(names, outcomes, strict=True) if isinstance(one, RoutineError)]
        acted = [(routine, one) for routine, one in zip(piece, outcomes, strict=True) if isinstance(one, Said)]
        done += [one for _routine, one in acted]
        noted = [(routine, one) for routine, one in acted if not isinstance(one, Undone)]
        note_each(request, noted, form.wants.get("reason", ""))
    left = routines[place:]
    if refusals and not done and refusals[0][1].field in form.fields:
        refuse(form, refusals[0][1])
        return ask_for_many(site, request, verb, form, routines)
    _tell(site, request, verb, done, refusals)
    if not left:
        where = url_of_run(request, done[0]) if len(routines) == 1 and done else ""
        return HttpResponseRedirect(where) if where else None
    site.message_user(request, _left(len(left)), messages.WARNING)
    return ask_for_many(site, request, verb, form, left)


def _left(count: int) -> str:
    return ngettext(
        "{count} routine is left: confirm to go on with it.",
        "{count} routines are left: confirm to go on with them.",
        count,
    ).format(count=grouped(count))


def _outcomes(verb: Verb, piece: list[Routine], wants: Wants, actor: str) -> list[Said | RoutineError]:
    """What was done of each, or why not. Of many of which somebody holds one, the others are done by themselves."""
    if verb.act_on_many is not None:
        try:
            return verb.act_on_many(piece, wants, actor)
        except Held:
            pass
        except RoutineError as refused:
            return [refused] * len(piece)
    return [_outcome(verb, routine, wants, actor) for routine in piece]


def _outcome(verb: Verb, routine: Routine, wants: Wants, actor: str) -> Said | RoutineError:
    try:
        _refuse_kind(verb, routine)
        return verb.act(routine, wants, actor)
    except RoutineError as refused:
        return refused


def _refuse_kind(verb: Verb, routine: Routine) -> None:
    """In the words of its page. Which statuses a verb is for, the service says: among many some may differ."""
    if not verb.fits_kind(routine):
        raise NotAllowed("routine", routine.name, not_for(verb, routine))


def _tell(
    site: RoutineAdmin, request: HttpRequest, verb: Verb, done: list[Said], refusals: list[tuple[str, RoutineError]]
) -> None:
    for level, told in in_words(DONE[verb.slug], done):
        site.message_user(request, told, level)
    if refusals:
        site.message_user(request, refused_in_words(verb.label, refusals), messages.WARNING)


LIST_ACTIONS = [
    list_action("run", permission="run", asks=False),
    list_action("pause", permission="pause", asks=True),
    list_action("resume", permission="pause", asks=True),
    list_action("reset", permission="reset", asks=False),
    list_action("hint-factor", permission="hint", asks=True),
    list_action("clear-hints", permission="hint", asks=False),
    list_action("archive", permission="archive", asks=True),
]
