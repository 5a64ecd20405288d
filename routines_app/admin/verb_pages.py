"""One verb for one routine: a page that asks what the verb needs, and does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from routines_app.admin.backfill_plan import plan_of
from routines_app.admin.log_entries import actor_of, note
from routines_app.admin.permissions import may
from routines_app.admin.refusals import refuse
from routines_app.admin.released_slots import Release, releases_of
from routines_app.admin.run_facts import run_url
from routines_app.admin.translating import grouped, translated
from routines_app.admin.verb_acts import Backfilled, Told, Undone
from routines_app.admin.verb_arguments import arguments_like, run_like
from routines_app.admin.verb_buttons import VERBS, Verb, rotates
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said, said
from routines_app.models import Routine
from routines_app.service import BackfillPlan

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

VIEW_RUNS = "view_routinerun"
NAMED = 5  # of those that were not done: spelled out in a message
CHOSEN = "routines"
"""The field of a confirmation that says which routines it showed, by their ids."""


def verb_page(admin: RoutineAdmin, request: HttpRequest, object_id: int, slug: str) -> HttpResponse:
    """GET asks, POST acts; a refusal stands at its field."""
    routine = admin.routine_or_404(request, object_id)
    verb = allowed_verb(request, slug)
    if not verb.fits(routine):
        admin.message_user(request, f"{translated(not_for(verb, routine))}.", messages.WARNING)
        return HttpResponseRedirect(overview_url(routine))
    form = verb.form(request.POST if request.method == "POST" else None, initial=_initial(request, verb, routine))
    if not may(request, VIEW_RUNS):
        form.fields.pop("like", None)  # whoever posts it all the same would get that run's hidden arguments
    plan = plan_of(verb, routine, form) if request.method == "POST" and form.is_valid() else None
    is_meant = request.method == "POST" and plan is None and form.is_valid()  # a plan may have been refused
    done = acted(admin, request, verb, routine, form) if is_meant else None
    if done is not None:
        return HttpResponseRedirect(url_of_run(request, done) or _where_to(verb, object_id, done))
    return _asked(admin, request, verb, form, [routine], plan=plan)


def not_for(verb: Verb, routine: Routine) -> Said:
    """What the routine is that keeps the verb from fitting."""
    label = verb.label
    if verb.only_declared and not routine.is_declared_in_code:
        return said("{verb} is not for a routine that is not declared in code", verb=label)
    if routine.shadow and not verb.for_shadowed:
        return said(
            "{verb} is not for a routine in shadow: {scheduler} still fires it",
            verb=label,
            scheduler=routine.fired_by,
        )
    if rotates(routine) and not verb.for_rotations:
        return said("{verb} is not for a rotation's own routine: see the rotation's page", verb=label)
    if routine.rotation_id is not None and not verb.for_members:
        return said("{verb} is not for a rotation's member: its rotation says when it runs", verb=label)
    return said("{verb} is not for a routine that is {status}", verb=label, status=routine.status)


def _initial(request: HttpRequest, verb: Verb, routine: Routine) -> dict[str, Any]:
    if verb.slug == "give-back":
        return {"field": request.GET.get("field", "")}
    if verb.slug != "run":
        return {}
    try:
        like = UUID(request.GET.get("like", "")) if may(request, VIEW_RUNS) else None
    except ValueError:
        like = None
    made = {"like": like, "idempotency_key": uuid4().hex, "read_version": routine.version}
    return made | arguments_like(routine, run_like(routine, like))


def allowed_verb(request: HttpRequest, slug: str) -> Verb:
    verb = VERBS.get(slug)
    if verb is None:
        raise Http404(_("There is no verb {slug}.").format(slug=slug))
    if not may(request, verb.permission):
        raise PermissionDenied
    return verb


def acted(admin: RoutineAdmin, request: HttpRequest, verb: Verb, routine: Routine, form: Any) -> Said | None:
    """Do it, tell the person and the history; or put the refusal at its field, and then it is None."""
    logged = Routine(pk=routine.pk, name=routine.name)  # deletion takes the id away from the instance
    try:
        done = verb.act(routine, form.wants, actor_of(request))
    except RoutineError as refused:
        refuse(form, refused)
        return None
    if isinstance(done, Undone):
        admin.message_user(request, f"{translated(done)}.", messages.WARNING)
        return done
    note(request, logged, done, form.wants.get("reason", ""))
    admin.message_user(request, f"{translated(done)}.", messages.SUCCESS)
    return done


def url_of_run(request: HttpRequest, done: Said) -> str:
    """The page of the run that was asked for, for someone who may look at it; empty: there is none."""
    run = done.run if isinstance(done, Told) else None
    return run_url(run) if run is not None and may(request, VIEW_RUNS) else ""


def in_words(of_many: Callable[[int], Said], outcomes: Sequence[Said]) -> Iterator[tuple[int, str]]:
    """What became of many, as messages with their levels: how many were done, and those of which nothing was."""
    done, undone = ([one for one in outcomes if isinstance(one, Undone) == is_undone] for is_undone in (False, True))
    if done:
        yield messages.SUCCESS, f"{translated(done[0] if len(done) == 1 else of_many(len(done)))}."
    if undone:
        yield messages.WARNING, f"{first_of([translated(one) for one in undone])}."


def refused_in_words(label: object, refusals: Sequence[tuple[str, RoutineError]]) -> str:
    """Of which of many the verb was refused, and why."""
    named = first_of([f"{name}: {translated(refused.expected)}" for name, refused in refusals])
    return _("{verb} was refused for {named}.").format(verb=label, named=named)


def first_of(sentences: Sequence[str]) -> str:
    """The first few, and how many there are besides."""
    named, more = "; ".join(sentences[:NAMED]), len(sentences) - NAMED
    if more <= 0:
        return named
    return ngettext("{named}; and {count} more", "{named}; and {count} more", more).format(
        named=named, count=grouped(more)
    )


def ask_for_many(
    admin: RoutineAdmin, request: HttpRequest, verb: Verb, form: Form, routines: list[Routine]
) -> TemplateResponse:
    """The same page between a list action and its deed."""
    # One field for all of them: Django refuses posts of more than DATA_UPLOAD_MAX_NUMBER_FIELDS.
    ids = ",".join(str(routine.pk) for routine in routines)
    chosen = {"action": request.POST["action"], "field": CHOSEN, "ids": ids}
    return _asked(admin, request, verb, form, routines, chosen=chosen)


def _asked(
    admin: RoutineAdmin,
    request: HttpRequest,
    verb: Verb,
    form: Form,
    routines: list[Routine],
    chosen: dict[str, str] | None = None,
    plan: BackfillPlan | None = None,
) -> TemplateResponse:
    one = routines[0] if chosen is None else None
    count = len(routines)
    what = one.name if one else ngettext("{count} routine", "{count} routines", count).format(count=grouped(count))
    context = {
        **admin.admin_site.each_context(request),
        "title": _("{verb}: {what}").format(verb=verb.label, what=what),
        "opts": admin.model._meta,
        "verb": verb,
        "form": form,
        "routines": routines,
        "routine": one,
        "chosen": chosen,
        "releases": _releases(verb, routines),
        "plan": plan,
        "section": "routines",
    }
    return TemplateResponse(
        request, "routines/verb.html", context, status=200 if form.is_valid() or not form.is_bound else 422
    )


def _releases(verb: Verb, routines: list[Routine]) -> list[Release]:
    return releases_of(routines) if verb.slug == "resume" else []


def _where_to(verb: Verb, object_id: int, done: Said) -> str:
    if isinstance(done, Backfilled):
        return reverse("admin:routines_routine_backfill", args=[object_id, done.batch])
    if verb.slug == "delete":
        return reverse("admin:routines_routine_changelist")
    return reverse("admin:routines_routine_overview", args=[object_id])


def overview_url(routine: Routine) -> str:
    return reverse("admin:routines_routine_overview", args=[routine.pk])
