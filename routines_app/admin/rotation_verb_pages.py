"""One verb for a rotation, or for some of its members: a page that asks what the verb needs, and does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app import service
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.member_table import place_in_table
from routines_app.admin.permissions import may
from routines_app.admin.refusals import refuse
from routines_app.admin.rotation_verbs import MEMBER_VERBS, ROTATION_VERBS, MemberVerb, RotationVerb
from routines_app.admin.translating import grouped, translated
from routines_app.admin.verb_acts import SECONDS, Undone, Unfinished
from routines_app.admin.verb_forms import VerbForm
from routines_app.admin.verb_pages import in_words, refused_in_words
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said, said_of
from routines_app.models import Rotation, Routine

if TYPE_CHECKING:
    from routines_app.admin.rotations import RotationAdmin

AT_ONCE = 1_000  # more than this is a job for the command line, not for one web request
CHOSEN = "members"
ARCHIVES_MEMBERS = "change_routine"
DONE: dict[str, Callable[[int], Said]] = {
    "run": lambda n: said_of(n, "Asked for a run of {count:,} member", "Asked for runs of {count:,} members"),
    "pause": lambda n: said_of(n, "Paused {count:,} member", "Paused {count:,} members"),
    "resume": lambda n: said_of(n, "Resumed {count:,} member", "Resumed {count:,} members"),
    "reset": lambda n: said_of(n, "Reset {count:,} member", "Reset {count:,} members"),
}
"""That so many were done, one by one; of a single one its verb says more."""


def rotation_verb_page(admin: RotationAdmin, request: HttpRequest, object_id: int, slug: str) -> HttpResponse:
    """GET asks, POST acts; a refusal stands at its field."""
    rotation = admin.rotation_or_404(request, object_id)
    verb = ROTATION_VERBS.get(slug)
    if verb is None:
        raise Http404(_("There is no verb {slug}.").format(slug=slug))
    if not may(request, verb.permission):
        raise PermissionDenied
    if not verb.fits(rotation):
        told = _("{verb} is not for a rotation as this one is: {status}.")
        told = told.format(verb=verb.label, status=rotation.routine.status)
        admin.message_user(request, told, messages.WARNING)
        return HttpResponseRedirect(rotation_url(rotation))
    form = verb.form(request.POST if request.method == "POST" else None)
    if not may(request, ARCHIVES_MEMBERS):
        form.fields.pop("members", None)
    if form.is_bound and form.is_valid() and _acted(admin, request, verb, rotation, form):
        return HttpResponseRedirect(rotation_url(rotation))
    return _asked(admin, request, verb, rotation, form)


def _acted(admin: RotationAdmin, request: HttpRequest, verb: RotationVerb, rotation: Rotation, form: VerbForm) -> bool:
    try:
        done = verb.act(rotation, form.wants, actor_of(request))
    except RoutineError as refused:
        refuse(form, refused)
        return False
    note(request, rotation, done, form.wants.get("reason", ""))
    unfinished = isinstance(done, Unfinished)
    admin.message_user(request, f"{translated(done)}.", messages.WARNING if unfinished else messages.SUCCESS)
    return not unfinished


def members_page(admin: RotationAdmin, request: HttpRequest, object_id: int) -> HttpResponse:
    """A verb for the members that are chosen; one that asks shows its page first. POST only."""
    rotation = admin.rotation_or_404(request, object_id)
    back = rotation_url(rotation) + place_in_table(request)
    if request.method != "POST":
        return HttpResponseRedirect(back)
    verb = MEMBER_VERBS.get(request.POST.get("verb", ""))
    if verb is None:
        raise Http404(_("There is no such verb."))
    if not verb.allowed(request):
        raise PermissionDenied
    members, problem = _chosen(request, rotation)
    if problem:
        admin.message_user(request, problem, messages.ERROR)
        return HttpResponseRedirect(back)
    confirmed = "confirmed" in request.POST
    form = verb.form(request.POST if confirmed or not verb.asks else None)
    if form.is_bound and form.is_valid():
        members = _did(admin, request, verb, rotation, members, form)
        if not members:
            return HttpResponseRedirect(back)
    return _asked(admin, request, verb, rotation, form, members)


def _chosen(request: HttpRequest, rotation: Rotation) -> tuple[list[Routine], str]:
    """Those that are members still, or what is wrong with the choice."""
    ids = [text for value in request.POST.getlist(CHOSEN) for text in value.split(",") if service.is_id(text)]
    if len(ids) > AT_ONCE:
        return [], _("Choose at most {most} members at once.").format(most=grouped(AT_ONCE))
    found = Routine.objects.filter(pk__in=ids, rotation_id=rotation.pk).select_related("state").order_by("name")
    members = list(found)
    return members, "" if members else _("Choose members in the table first.")


def _did(
    admin: RotationAdmin, request: HttpRequest, verb: MemberVerb, rotation: Rotation, members: list[Routine], form: Any
) -> list[Routine]:
    """Do it, and tell the person and the history; whoever is left is asked for again."""
    if verb.at_once is None:
        return _one_by_one(admin, request, verb, rotation, members, form)
    try:
        done = verb.at_once(rotation, members, form.wants, actor_of(request))
    except RoutineError as refused:
        refuse(form, refused)
        return members
    note(request, rotation, done, form.wants.get("reason", ""))
    admin.message_user(request, f"{translated(done)}.", messages.SUCCESS)
    return []


def _one_by_one(
    admin: RotationAdmin, request: HttpRequest, verb: MemberVerb, rotation: Rotation, members: list[Routine], form: Any
) -> list[Routine]:
    assert verb.act is not None  # nosec B101 # for the type checker
    done, refusals, until = list[Said](), list[tuple[str, RoutineError]](), time.monotonic() + SECONDS
    left = list(members)
    while left and (len(left) == len(members) or time.monotonic() < until):  # always one, or nothing would move on
        member = left.pop(0)
        try:
            done.append(verb.act(member, form.wants, actor_of(request)))
        except RoutineError as refused:
            refusals.append((member.name, refused))
    _tell(admin, request, verb, done, refusals)
    _note(request, rotation, verb, [one for one in done if not isinstance(one, Undone)], form)
    if left:
        admin.message_user(request, _left(len(left)), messages.WARNING)
    return left


def _left(count: int) -> str:
    return ngettext(
        "{count} member is left: confirm to go on.", "{count} members are left: confirm to go on.", count
    ).format(count=grouped(count))


def _note(request: HttpRequest, rotation: Rotation, verb: MemberVerb, done: list[Said], form: Any) -> None:
    if done:
        told = done[0] if len(done) == 1 else DONE[verb.slug](len(done))
        note(request, rotation, told, form.wants.get("reason", ""))


def _tell(
    admin: RotationAdmin,
    request: HttpRequest,
    verb: MemberVerb,
    done: list[Said],
    refusals: list[tuple[str, RoutineError]],
) -> None:
    for level, told in in_words(DONE[verb.slug], done):
        admin.message_user(request, told, level)
    if refusals:
        admin.message_user(request, refused_in_words(verb.called, refusals), messages.WARNING)


def _asked(
    admin: RotationAdmin,
    request: HttpRequest,
    verb: RotationVerb | MemberVerb,
    rotation: Rotation,
    form: VerbForm,
    members: list[Routine] | None = None,
) -> TemplateResponse:
    label = verb.called if isinstance(verb, MemberVerb) else verb.label
    what = rotation.name if members is None else _of_rotation(len(members), rotation)
    context = {
        **admin.admin_site.each_context(request),
        "title": _("{verb}: {what}").format(verb=label, what=what),
        "opts": admin.model._meta,
        "section": "rotations",
        "verb": verb,
        "label": label,
        "form": form,
        "rotation": rotation,
        "members": members,
        "ids": ",".join(str(member.pk) for member in members or ()),
        "place": place_in_table(request),
        "back": rotation_url(rotation) + place_in_table(request),
    }
    return TemplateResponse(request, "routines/rotation_verb.html", context, status=422 if form.errors else 200)


def _of_rotation(count: int, rotation: Rotation) -> str:
    words = ngettext("{count} of {rotation}", "{count} of {rotation}", count)
    return words.format(count=grouped(count), rotation=rotation.name)


def rotation_url(rotation: Rotation) -> str:
    return reverse("admin:routines_rotation_overview", args=[rotation.pk])
