"""A name that code declares and somebody else's routine has: refused, or that routine becomes the code's own.

Two routines of one thing would both fire. So code never makes one beside another that has its name, unless that one is
archived: it fires no more. An entry that has moved from the app's `beat_schedule` to its task is the same routine, and
is taken over by itself; any other only when a person says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from celery import Celery
from celery.app import app_or_default

from routines_app.conf import get_settings
from routines_app.core.errors import NotAllowed
from routines_app.core.said import Said, said, together
from routines_app.core.words import RoutineStatus
from routines_app.models import DECLARED_IN_CODE, DECLARED_IN_DATABASE, ChangeKind, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.code_says import as_declared, declared_values, differences
from routines_app.verbs.checking.known_tasks import task_name
from routines_app.verbs.editing import editing

ADOPTED = "adopted by the code that declares it"
# Who adopts may be a step of a deployment whose beats come later, or never: until then those of the old code, which do
# not declare it, must not take it for gone.
DEPLOYED_WITHIN = timedelta(days=1)


def app_scope(app: Celery) -> str:
    """The app's name: two apps on one database do not touch each other's entries."""
    name = str(app.main or "celery")
    clashes = name == DECLARED_IN_DATABASE or name.startswith(DECLARED_IN_CODE)
    return f"celery-{name}" if clashes else name


def is_code(scope: str) -> bool:
    """Whether it is a project's code, and no schedule of an app."""
    return scope.startswith(DECLARED_IN_CODE)


def holders(names: Collection[str], scope: str) -> Iterable[Routine]:
    """The routines that have these names, and are not of this scope."""
    return Routine.objects.using(ledger_alias()).filter(name__in=names).exclude(declared_in=scope)


def is_to_adopt(holder: Routine, fields: dict[str, Any], *, is_asked: bool) -> bool:
    """Whether that routine becomes the code's; False: it is archived, and one may be made beside it.

    Else the name is refused, with who has it and the ways out.
    """
    is_same_task = holder.task == task_name("task", fields["task"])
    is_scheduled = _is_of_own_app(holder) and _is_scheduled(holder.name)
    if is_same_task and not is_scheduled and (is_asked or _is_of_own_app(holder)):
        return True
    if holder.status == RoutineStatus.ARCHIVED:
        return False
    raise NotAllowed("name", holder.name, together("; ", [_who(holder), _ways_out(is_same_task, is_scheduled)]))


def refuse_in_both(name: str, fields: dict[str, Any], scope: str) -> None:
    """What stands in `beat_schedule` and above its task would be two routines of one thing, whichever came first.

    So would one that somebody has made, or another sync has adopted, since code looked who has the name.
    """
    if is_code(scope) and _is_scheduled(name):
        raise NotAllowed("name", name, together("; ", [said("it also stands in beat_schedule"), _ways_out(True, True)]))
    living = (each for each in holders([name], scope) if each.status != RoutineStatus.ARCHIVED)
    for holder in living:
        is_same_task = holder.task == task_name("task", fields["task"])
        if is_code(scope):
            raise NotAllowed("name", name, together("; ", [_who(holder), _ways_out(is_same_task, False)]))
        if is_code(holder.declared_in) and is_same_task:
            raise NotAllowed(
                "name", name, together("; ", [_who(holder), said("take it out of beat_schedule, or rename this entry")])
            )


def adopt(holder: Routine, declared: dict[str, Any], scope: str, actor: object) -> None:
    """Make it the code's. Nothing that it does changes here: what people have chosen is an edit of theirs from now on.

    Of one that nobody declared that is all that differs; one that was declared elsewhere has its history.
    """
    with editing(holder.pk, actor=actor, reason=ADOPTED) as edit:
        routine, before = edit.routine, edit.routine.declared_in
        if before != holder.declared_in:
            return  # somebody else was faster
        kept: dict[str, Any] = {}
        if not routine.is_declared_in_code:
            routine.declared = as_declared(declared)
            kept = {field: getattr(routine, field) for field in differences(routine)}
        Routine.objects.using(ledger_alias()).filter(pk=routine.pk).update(
            declared_in=scope, declared=declared_values(routine), declared_seen_at=edit.now + DEPLOYED_WITHIN
        )
        edit.record(ChangeKind.UPDATED, before={"declared_in": before}, after={"declared_in": scope} | kept)


def _is_of_own_app(holder: Routine) -> bool:
    return holder.declared_in == app_scope(app_or_default())


def _is_scheduled(name: str) -> bool:
    """Still an entry there: a beat would make it anew."""
    entries = app_or_default().conf.beat_schedule or {}
    return get_settings().import_beat_schedule and name in map(str, entries)


def _who(holder: Routine) -> Said:
    if not holder.is_declared_in_code:
        return said("a routine that is not declared in code has that name (id {id})", id=holder.pk)
    return said(
        "a routine that is declared in {declared_by} has that name (id {id})",
        declared_by=holder.declared_by,
        id=holder.pk,
    )


def _ways_out(is_same_task: bool, is_scheduled: bool) -> Said:
    if is_scheduled:
        return said("take it out of beat_schedule, or give this one another name")
    if not is_same_task:
        return said("it is of another task: give this one another name, or archive that one")
    return said("give this one another name, archive that one, or make it the code's by `routines sync --adopt`")
