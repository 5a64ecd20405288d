"""Runs that somebody asks for, beside the schedule and without moving it.

Decided under the state's lock, like a claim: an active FORBID routine gives a SKIPPED run, REPLACE makes room first.
PAUSED and PARKED routines run; ARCHIVED ones do not.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery.app import app_or_default

from routines_app.conf import get_settings
from routines_app.coordination.broker_address import CONFIGURE, NO_BROKER, has_broker
from routines_app.core.admission import Cancel, Candidate, Hold, Publish, Replace, Skip, admit, standing
from routines_app.core.errors import NotAllowed
from routines_app.core.holding import held_as
from routines_app.core.keys import manual_key
from routines_app.core.words import ConcurrencyPolicy, RunStatus, RunTrigger
from routines_app.masks import holds_secret
from routines_app.models import ChangeKind, Routine, RoutineRun, ScheduleChange
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.events import tell
from routines_app.verbs.checking import arguments, limits
from routines_app.verbs.checking.lookup import RoutineRef, RunRef, find_run
from routines_app.verbs.checking.rules import Text
from routines_app.verbs.editing import ACTOR, editing, refuse_archived

KEY = Text(longest=limits.LONGEST_KEY, required=True)
_ANEW = "ask for a run with arguments that are typed anew"


def run_now(
    routine: RoutineRef,
    *,
    args: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    idempotency_key: str | None = None,
    requested_by: object = None,
) -> RoutineRun:
    """Run a routine once, now. Arguments that are not given are the routine's own. Refused where no broker is known.

    The same `idempotency_key` for the same routine returns the run that the first call made.
    """
    request = _checked(args, kwargs, idempotency_key, requested_by)
    with editing(routine) as edit:
        return _run(edit.routine, request, edit.now)


def retry_run(run: RunRef, *, idempotency_key: str | None = None, requested_by: object = None) -> RoutineRun:
    """Run again, by hand and at once, what a run was given.

    Refused where a secret of it would get into other hands: the routine has another task or queue by now.
    """
    found = find_run(run)
    request = _checked(found.args, found.kwargs, idempotency_key, requested_by)
    with editing(found.routine_id) as edit:
        _refuse_elsewhere(found, edit.routine)
        return _run(edit.routine, request, edit.now)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for, checked."""

    args: list[Any] | None
    kwargs: dict[str, Any] | None
    token: str
    requested_by: str

    def arguments_for(self, routine: Routine) -> dict[str, Any]:
        """Both parts or none: beside what somebody has chosen, a later edit of the routine's must not get in."""
        if self.args is None and self.kwargs is None:
            return {}
        return {
            "args": routine.args if self.args is None else self.args,
            "kwargs": routine.kwargs if self.kwargs is None else self.kwargs,
        }


def _checked(args: Any, kwargs: Any, idempotency_key: str | None, requested_by: object) -> Request:
    app = app_or_default()
    if not has_broker(app):
        raise NotAllowed("celery", app.main, f"{NO_BROKER}: {CONFIGURE}")
    return Request(
        args=None if args is None else arguments.positional("args", args),
        kwargs=None if kwargs is None else arguments.named("kwargs", kwargs),
        token=secrets.token_hex(8) if idempotency_key is None else KEY("idempotency_key", idempotency_key),
        requested_by=ACTOR("requested_by", "" if requested_by is None else str(requested_by)),
    )


def _refuse_elsewhere(run: RoutineRun, routine: Routine) -> None:
    """Whoever may change the routine could otherwise have a task of their choice called with what a run was given, and
    whoever may run it, arguments of their choice put beside secrets that it was given later."""
    moved = [field for field in ("task", "queue") if getattr(run, field) != getattr(routine, field)]
    if not moved and _options_changed_since(run):
        moved = ["way for its messages"]
    if moved and holds_secret([run.args, run.kwargs]):
        raise NotAllowed(
            "run", str(run.pk), f"it has hidden arguments and another {moved[0]} than its routine: {_ANEW}"
        )
    routines_own = [getattr(routine, part) for part in ("args", "kwargs") if getattr(run, part) is None]
    if len(routines_own) == 1 and holds_secret(routines_own[0]):
        raise NotAllowed("run", str(run.pk), f"some of its arguments are its routine's, and hidden: {_ANEW}")


def _options_changed_since(run: RoutineRun) -> bool:
    """Runs do not keep their routine's options; its history says when these were changed. No slot is after its run."""
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=run.routine_id, kind=ChangeKind.UPDATED)
    return changes.filter(at__gte=run.scheduled_for, after__has_key="options").exists()


def _run(routine: Routine, request: Request, now: datetime) -> RoutineRun:
    refuse_archived(routine, "does not run any more")
    key = manual_key(routine.pk, request.token, 1)
    made_before = RoutineRun.objects.using(ledger_alias()).filter(idempotency_key=key).first()
    if made_before is not None:
        return made_before
    run = _new_run(routine, request, key, now)
    _admit(routine, run, now)
    run.save(using=ledger_alias(), force_insert=True)
    if run.status == RunStatus.PENDING:
        outbox.after_commit(run)
    tell([run])
    return run


def _new_run(routine: Routine, request: Request, key: str, now: datetime) -> RoutineRun:
    return RoutineRun.of(
        routine,
        trigger=RunTrigger.MANUAL,
        **request.arguments_for(routine),
        pool_id=routine.pool_id,
        scheduled_for=now,
        eligible_at=now,
        idempotency_key=key,
        requested_by=request.requested_by,
    )


def _admit(routine: Routine, run: RoutineRun, now: datetime) -> None:
    """Decide overlap for a new run, act on the others, and set its fields accordingly."""
    candidate = Candidate(
        policy=ConcurrencyPolicy(routine.concurrency_policy),
        fresh=True,
        eligible_at=now,
        held=held_as(routine.status, run.trigger),
        pooled=run.pool_id is not None,
        replace_grace=timedelta(seconds=get_settings().replace_grace_seconds),
    )
    active = active_runs([routine.pk]).get(routine.pk, []) if routine.is_exclusive else []
    match admit(candidate, active, now):
        case Skip(reason):
            run.status, run.reason, run.completed_at = RunStatus.SKIPPED, reason, now
        case Cancel(reason):
            run.status, run.reason, run.completed_at = RunStatus.CANCELLED, reason, now
        case Replace(stop=stop, cancel=cancel, then=then):
            make_room(now, stop=stop, cancel=cancel)
            _stand(run, then, now)
        case Publish() | Hold() as decided:
            _stand(run, decided, now)


def _stand(run: RoutineRun, decided: Publish | Hold, now: datetime) -> None:
    """What goes at once is sent by its creator; in a pool it waits for room."""
    retry = timedelta(seconds=get_settings().publish_retry_seconds)
    where = standing(decided, eligible_at=run.eligible_at, now=now, publish_retry=retry)
    run.admitted_at, run.publish_after, run.reason = where
