"""Creating a routine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import DuplicateName
from routines_app.core.said import said
from routines_app.models import DECLARED_IN_DATABASE, ChangeKind, Routine, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.plan.planning import replan
from routines_app.protocol.rotate.enrol import enrol
from routines_app.verbs import family
from routines_app.verbs.checking.triggers import refuse_past
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.editing import REASON, Edit, actor_name
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.second_opinion import tell_second_opinion


def create_routine(
    name: str,
    *,
    task: str,
    cron: str | None = None,
    every: Any = None,
    at: Any = None,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
    **policies: Any,
) -> Routine:
    """Create an ACTIVE routine and plan its first fire.

    `cron`, `every` (a timedelta or text such as `10m`) or `at` (one moment to come: an aware datetime, or such text)
    say when it fires; with none of them it fires only by hand.
    `policies` are the other fields of `Routine`. Bad input raises a `RoutineError` and writes nothing.
    With `rotation` it is a member of that one, which fires it; `phases` are what its cycle runs, if not its one task.

    A task that this process does not know is refused, with the closest names. `allow_unknown_task` is for one that
    lives in another repository, and makes that a warning in the log.
    """
    values = {"name": name, "task": task, "args": args, "kwargs": {} if kwargs is None else kwargs} | policies
    values |= {field: value for field, value in (("cron", cron), ("every", every), ("at", at)) if value is not None}
    return insert(clean_new(values, allow_unknown_task=allow_unknown_task), actor=actor, reason=reason)


def insert(
    cleaned: dict[str, Any],
    *,
    actor: object = "",
    reason: str = "",
    declared_in: str = DECLARED_IN_DATABASE,
    declared: dict[str, Any] | None = None,
    told: dict[str, Any] | None = None,
) -> Routine:
    """Write a routine whose values are checked, with its state and its first plan. `told` goes into its history too.

    A person who asks for one moment means one to come; what code declares may be over, and then it has ended.
    """
    actor, reason = actor_name(actor), REASON("reason", reason)
    with verb_transaction("name", cleaned["name"]):
        now = clock.now()
        if declared_in == DECLARED_IN_DATABASE:
            refuse_past(cleaned.get("once_at"), now, "at")
        routine = Routine(**cleaned, created_at=now, declared_in=declared_in, declared=declared)
        if declared_in != DECLARED_IN_DATABASE:
            routine.declared_seen_at = now
        routine.depth = family.depth_under(routine, routine.parent)
        _save_new(routine)
        state = RoutineState(routine=routine)
        replan(routine, state, now)
        state.save(using=ledger_alias(), force_insert=True)
        if routine.rotation_id is not None:
            enrol([routine.pk], now)
        Edit(routine=routine, state=state, now=now, actor=actor, reason=reason).record(
            ChangeKind.CREATED, after=cleaned | (told or {})
        )
        on_commit(wake_beats)
        tell_second_opinion(routine, now)
    return routine


def refuse_duplicate(name: str) -> None:
    if Routine.objects.using(ledger_alias()).filter(name=name).exists():
        raise DuplicateName("name", name, said("give a name that no other routine has, archived ones included"))


def _save_new(routine: Routine) -> None:
    refuse_duplicate(routine.name)
    try:
        with transaction.atomic(using=ledger_alias()):
            routine.save(using=ledger_alias(), force_insert=True)
    except IntegrityError:
        # Somebody else took the name between the look and the insert; anything else is not ours to explain.
        refuse_duplicate(routine.name)
        raise
