"""Runs that do another one again: with what that one was given, as far as that may be given once more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from routines_app.core.errors import NotAllowed
from routines_app.core.said import Said, said
from routines_app.masks import holds_secret
from routines_app.models import ChangeKind, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RunRef, find_run
from routines_app.verbs.editing import editing
from routines_app.verbs.requested_work import Work, work_of
from routines_app.verbs.run_now import Request, ask, checked_request


def retry_run(run: RunRef, *, idempotency_key: str | None = None, requested_by: object = None) -> RoutineRun:
    """Run again, by hand and at once, what a run was given; the new run, with a chain of its own, refers to it.

    Refused where a secret of it would get into other hands: the routine has another task or queue by now. Refused too
    where it is not the next phase of its rotation's member.
    """
    found = find_run(run)
    request = again_request(found, idempotency_key, requested_by)
    with editing(found.routine_id) as edit:
        return ask_again(found, edit.routine, request, edit.now)


def again_request(run: RoutineRun, idempotency_key: str | None, requested_by: object) -> Request:
    """The request for what the run was given."""
    request = checked_request(run.args, run.kwargs, idempotency_key, requested_by)
    return replace(request, again=run.pk)


def ask_again(run: RoutineRun, routine: Routine, request: Request, now: datetime) -> RoutineRun:
    """The run that does this one again. Inside `editing`: the routine's state is locked."""
    work = work_of(routine)
    _refuse_another_phase(run, work)
    _refuse_elsewhere(run, routine, work)
    return ask(routine, request, now)


def _refuse_another_phase(run: RoutineRun, work: Work) -> None:
    if run.rotation_id == run.routine_id:
        raise NotAllowed("run", str(run.pk), said("it seeded its rotation: the next tick does, or seed_rotation"))
    following = work.turn.phase.name if work.turn is not None else None
    if following is not None and run.phase != following:
        raise NotAllowed(
            "run",
            str(run.pk),
            said(
                "its phase was {phase!r}, and the member's next one is {following!r}: use run_now",
                phase=run.phase,
                following=following,
            ),
        )


def _refuse_elsewhere(run: RoutineRun, routine: Routine, work: Work) -> None:
    """Whoever may change the routine could otherwise have a task of their choice called with what a run was given, and
    whoever may run it, arguments of their choice put beside secrets that it was given later."""
    moved = _moved(run, routine, work)
    if moved is not None and holds_secret([run.args, run.kwargs]):
        raise NotAllowed("run", str(run.pk), moved)
    routines_own = [getattr(routine, part) for part in ("args", "kwargs") if getattr(run, part) is None]
    if len(routines_own) == 1 and holds_secret(routines_own[0]):
        expected = said(
            "some of its arguments are its routine's, and hidden: ask for a run with arguments that are typed anew"
        )
        raise NotAllowed("run", str(run.pk), expected)


def _moved(run: RoutineRun, routine: Routine, work: Work) -> Said | None:
    """What it went to that its routine does not go to any more, if so."""
    if run.task != work.task:
        return said(
            "it has hidden arguments and another task than its routine: ask for a run with arguments that are typed"
            " anew"
        )
    if run.queue != routine.queue:
        return said(
            "it has hidden arguments and another queue than its routine: ask for a run with arguments that are typed"
            " anew"
        )
    if _options_changed_since(run):
        return said(
            "it has hidden arguments and another way for its messages than its routine: ask for a run with arguments"
            " that are typed anew"
        )
    return None


def _options_changed_since(run: RoutineRun) -> bool:
    """Runs do not keep their routine's options; its history says when these were changed. No slot is after its run."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=run.routine_id, kind=ChangeKind.UPDATED)
    return changes.filter(at__gte=run.scheduled_for, after__has_key="options").exists()
