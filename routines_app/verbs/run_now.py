"""Runs that somebody asks for, beside the schedule and without moving it.

Decided under the state's lock, like a claim: an active FORBID routine gives a SKIPPED run, REPLACE makes room first,
QUEUE gives a run that waits for its turn. PAUSED and PARKED routines run; ARCHIVED ones do not. Of a rotation's member
it is the next phase that runs, and the cycle goes on with it; of a rotation's own routine it is a tick.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from celery.app import app_or_default
from django.db.models import Q

from routines_app.conf import get_settings
from routines_app.coordination.broker_address import CONFIGURE, NO_BROKER, has_broker
from routines_app.core.admission import (
    Cancel,
    Candidate,
    Hold,
    Overtake,
    Publish,
    Replace,
    Skip,
    Supersede,
    admit,
    in_the_way,
    standing,
)
from routines_app.core.errors import NotAllowed
from routines_app.core.holding import held_as
from routines_app.core.keys import manual_key, unkeyed_key, unkeyed_prefix
from routines_app.core.line import place_of
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said, together
from routines_app.core.waits import first_wait
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus, RunTrigger
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.tick import tick_by_hand
from routines_app.protocol.end.line import step_back
from routines_app.protocol.end.make_room import make_room
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.default_pool import pool_of
from routines_app.protocol.publish import outbox
from routines_app.protocol.record.events import tell
from routines_app.protocol.rotate.by_hand import take_turn
from routines_app.verbs.checking import arguments, sizes
from routines_app.verbs.checking.lookup import RoutineRef, RunRef, find_run
from routines_app.verbs.checking.rules import Text
from routines_app.verbs.editing import ACTOR, editing, refuse_archived, refuse_shadowed
from routines_app.verbs.requested_work import Work, work_of

KEY = Text(longest=sizes.LONGEST_KEY, required=True)
COMPARED_AT_MOST = 100  # waiting requests with arguments of their own


def run_now(
    routine: RoutineRef,
    *,
    args: Sequence[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    idempotency_key: str | None = None,
    requested_by: object = None,
    like: RunRef | None = None,
) -> RoutineRun:
    """Run a routine once, now. Arguments that are not given are the routine's own. Refused where no broker is known.

    The same `idempotency_key` for the same routine returns the run that the first call made. Without one, what
    was asked for without one and still waits, because it was not sent yet, is not made again: with the same arguments
    it is that run, unless the routine has another pool by now. The hundred oldest with arguments are compared.

    A rotation's member runs its next phase; arguments that are given replace that phase's. One that is in flight gives
    a SKIPPED run. A rotation's own routine ticks, also while it idles, and takes no arguments.

    `like` is the run of this routine that is done again, perhaps with other arguments: the new one refers to it.
    """
    request = checked_request(args, kwargs, idempotency_key, requested_by)
    before = None if like is None else find_run(like, field="like")
    with editing(routine) as edit:
        if before is not None and before.routine_id != edit.routine.pk:
            raise NotAllowed("like", str(before.pk), said("give a run of {routine}", routine=edit.routine.name))
        return ask(edit.routine, replace(request, again=None if before is None else before.pk), edit.now)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked for, checked."""

    args: list[Any] | None
    kwargs: dict[str, Any] | None
    token: str
    keyed: bool
    """Whether the token is the caller's own: then it alone says what is a repetition."""
    requested_by: str
    again: UUID | None = None
    """The run that is done again."""

    def key_for(self, routine: Routine) -> str:
        return (manual_key if self.keyed else unkeyed_key)(routine.pk, self.token, 1)

    @property
    def has_arguments(self) -> bool:
        return self.args is not None or self.kwargs is not None

    def arguments_for(self, work: Work) -> dict[str, Any]:
        """Both parts or none: beside what somebody has chosen, a later edit of the routine's must not get in."""
        if not self.has_arguments and not work.has_arguments:
            return {}
        return {
            "args": work.args if self.args is None else self.args,
            "kwargs": work.kwargs if self.kwargs is None else self.kwargs,
        }


def checked_request(args: Any, kwargs: Any, idempotency_key: str | None, requested_by: object) -> Request:
    """The request, or the error that says what is wrong with it."""
    app = app_or_default()
    if not has_broker(app):
        raise NotAllowed("celery", app.main, together(": ", [NO_BROKER, CONFIGURE]))
    return Request(
        args=None if args is None else arguments.positional("args", args),
        kwargs=None if kwargs is None else arguments.named("kwargs", kwargs),
        keyed=idempotency_key is not None,
        token=secrets.token_hex(8) if idempotency_key is None else KEY("idempotency_key", idempotency_key),
        requested_by=ACTOR("requested_by", "" if requested_by is None else str(requested_by)),
    )


def ask(routine: Routine, request: Request, now: datetime) -> RoutineRun:
    """The run that is asked for. Inside `editing`: the routine's state is locked."""
    refuse_archived(routine, said("an archived routine does not run any more"))
    refuse_shadowed(routine)
    if routine.task == TICK_TASK:
        return _tick(routine, request, now)
    pool_id, work = pool_of(routine), work_of(routine)
    made_before = _of_that_key(routine, request) if request.keyed else _still_waiting(routine, request, work, pool_id)
    if made_before is not None:
        return made_before
    run = _new_run(routine, request, work, pool_id, now)
    _admit(routine, run, work, now)
    run.save(using=ledger_alias(), force_insert=True)
    if run.status == RunStatus.PENDING:
        if work.turn is not None:
            take_turn(work.turn, run)
        outbox.after_commit(run)
    tell([run])
    return run


def _tick(routine: Routine, request: Request, now: datetime) -> RoutineRun:
    if request.has_arguments:
        raise NotAllowed("args", routine.name, said("a rotation's tick takes no arguments: leave them out"))
    made_before = _of_that_key(routine, request) if request.keyed else None
    key = request.key_for(routine)
    return made_before or tick_by_hand(routine, routine.state, request.requested_by, now, key=key)


def _of_that_key(routine: Routine, request: Request) -> RoutineRun | None:
    return RoutineRun.objects.using(ledger_alias()).filter(idempotency_key=request.key_for(routine)).first()


def _still_waiting(routine: Routine, request: Request, work: Work, pool_id: int | None) -> RoutineRun | None:
    """What somebody asked for in the same words, and nobody has sent yet. Two who ask at once meet at the state's lock.

    This comes before any policy: whoever asks twice wants neither a second run nor to hear that the first one overlaps.
    """
    runs = RoutineRun.objects.using(ledger_alias()).filter(routine_id=routine.pk, status=RunStatus.PENDING)
    waiting = runs.filter(trigger=RunTrigger.MANUAL, dispatched_at=None).order_by("id")
    unkeyed = waiting.filter(idempotency_key__startswith=unkeyed_prefix(routine.pk))
    alike = unkeyed.filter(task=work.task, queue=routine.queue)  # what the routine was edited to since, it was not
    # In another pool it waits for other room; in none, it is about to be taken into the default pool.
    alike = alike.filter(Q(pool_id=pool_id) | Q(pool_id=None) if routine.pool_id is None else Q(pool_id=pool_id))
    wanted = request.arguments_for(work)
    if not wanted:
        return alike.filter(args__isnull=True, kwargs__isnull=True).first()
    text = _as_text(wanted["args"], wanted["kwargs"])
    return next((run for run in alike[:COMPARED_AT_MOST] if _as_text(run.args, run.kwargs) == text), None)


def _as_text(*arguments: Any) -> str:
    """In JSON, `1`, `1.0` and `true` differ."""
    return json.dumps(arguments, sort_keys=True)


def _new_run(routine: Routine, request: Request, work: Work, pool_id: int | None, now: datetime) -> RoutineRun:
    run = RoutineRun.of(
        routine,
        trigger=RunTrigger.MANUAL,
        **request.arguments_for(work),
        pool_id=pool_id,
        scheduled_for=now,
        eligible_at=now,
        idempotency_key=request.key_for(routine),
        requested_by=request.requested_by,
        requested_at=now,
        retry_of_id=request.again,
    )
    run.task = work.task
    if work.turn is not None:
        run.rotation, run.phase = work.turn.rotation, work.turn.phase.name
    return run


def _admit(routine: Routine, run: RoutineRun, work: Work, now: datetime) -> None:
    """Decide overlap for a new run, act on the others, and set its fields accordingly."""
    candidate = Candidate(
        policy=ConcurrencyPolicy(routine.concurrency_policy),
        fresh=True,
        place=place_of(run.trigger, run.scheduled_for, run.pk),
        eligible_at=now,
        held=held_as(routine.status, run.requested_at),
        pooled=run.pool_id is not None,
        replace_grace=timedelta(seconds=get_settings().replace_grace_seconds),
    )
    active = active_runs([routine.pk]).get(routine.pk, []) if routine.is_exclusive else []
    in_flight = work.turn is not None and work.turn.is_in_flight  # also by an end that is not settled yet
    match Skip(Reason.OVERLAP) if in_flight else admit(candidate, active, now):
        case Skip(reason):
            run.status, run.reason, run.completed_at = RunStatus.SKIPPED, reason, now
            run.blocked_by = in_the_way(active) or (work.turn.member.run if work.turn is not None else None)
        case Cancel(reason):
            run.status, run.reason, run.completed_at = RunStatus.CANCELLED, reason, now
            run.blocked_by = in_the_way(active)
        case Replace(stop=stop, cancel=cancel, then=then):
            make_room(now, stop=stop, cancel=cancel, by=dict.fromkeys([*stop, *cancel], run.pk))
            _stand(run, then, now)
        case Publish() | Hold() as decided:
            _stand(run, decided, now)
        case Overtake() as overtake:
            _stand(run, _overtake(overtake, now), now)
        case Supersede():
            raise AssertionError("only a slot stands for older slots")


def _overtake(decided: Overtake, now: datetime) -> Publish | Hold:
    """Under the state's lock; one that its pool lets through before it is locked is not overtaken but waited for."""
    return decided.then if step_back(decided.back, now) else Hold(Reason.OVERLAP)


def _stand(run: RoutineRun, decided: Publish | Hold, now: datetime) -> None:
    """What goes at once is sent by its creator; in a pool it waits for room."""
    retry = timedelta(seconds=get_settings().publish_retry_seconds)
    where = standing(decided, eligible_at=run.eligible_at, now=now, publish_retry=retry)
    run.admitted_at, run.publish_after, run.reason = where
    run.waits = first_wait(where.reason, now)
