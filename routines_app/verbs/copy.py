"""Copying a routine: everything that a person has set, under another name."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from routines_app.core.errors import NotAllowed
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said
from routines_app.core.words import TRIGGER_FIELDS
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.triggers import with_full_names
from routines_app.verbs.checking.validation import FIELDS, clean_new
from routines_app.verbs.create import insert
from routines_app.verbs.pause import pause_routine
from routines_app.verbs.update import refuse_stale


def copy_routine(
    routine: RoutineRef,
    name: str,
    *,
    paused: bool = True,
    version: int | None = None,
    actor: str = "",
    reason: str = "",
    **changes: Any,
) -> Routine:
    """A new routine that is set as this one is, arguments and all, but for its name and the `changes`.

    It is PAUSED at first, so that nothing runs twice by mistake; `paused=False` lets it fire at once. What the
    machinery knows of the original (runs, hints, failures, whether code declares it, shadow) stays with that.
    With `version`, only the routine as it was then: one that was edited since raises `StaleVersion`.
    """
    original = find_routine(routine.pk if isinstance(routine, Routine) else routine)
    refuse_stale(original, version)
    if original.task == TICK_TASK:
        raise NotAllowed(
            "routine", original.name, said("a rotation's own routine is not copied: create another rotation")
        )
    values = _settings(original, with_full_names(changes)) | {"name": name}
    cleaned = clean_new(values, allow_unknown_task=True)
    with transaction.atomic(using=ledger_alias()):
        made = insert(cleaned, actor=actor, reason=reason, told={"copied_from": original.name})
        if paused:
            pause_routine(made, actor=actor, reason=f"Copied from {original.name}, and not resumed yet.")
    return made


def _settings(original: Routine, changes: dict[str, Any]) -> dict[str, Any]:
    """Of the trigger, which is one thing of several fields, only what the changed one leaves."""
    kept = {field: getattr(original, field) for field in FIELDS}
    if changes.keys() & set(TRIGGER_FIELDS):
        kept = {field: value for field, value in kept.items() if field not in TRIGGER_FIELDS}
    return {field: value for field, value in kept.items() if value is not None} | changes
