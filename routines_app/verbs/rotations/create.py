"""Creating a rotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from routines_app.models import Rotation
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.membership import OF_A_ROTATION, refuse_on_rotation
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.create import insert
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.fields import cleaned, with_room

TICKS_EVERY = "30m"


def create_rotation(
    name: str,
    *,
    cron: str | None = None,
    every: Any = None,
    budget: int = 1,
    max_in_flight: int | None = None,
    fresh_for: Any = "1d",
    depth_weight: float = 0.5,
    task: str = "",
    phases: Sequence[Mapping[str, Any]] = (),
    seed: str = "",
    archive_vanished: bool = False,
    actor: str = "",
    reason: str = "",
    allow_unknown_task: bool = False,
    **policies: Any,
) -> Rotation:
    """Create an ACTIVE rotation, which has no members yet, and plan its first tick.

    `cron` or `every` say when it ticks; with neither it does every 30 minutes. A tick picks at most `budget` members,
    and none while `max_in_flight` of them (by default as many) are in flight. `task` and `phases` are those of members
    that say nothing else; `seed` is the dotted path of a callable that yields what should be members. `policies` are
    other fields of the rotation's own routine, `timeout_ms` for one: how long a seeding may take.
    """
    given = {"budget": budget, "max_in_flight": max_in_flight, "fresh_for": fresh_for, "depth_weight": depth_weight}
    given |= {"task": task, "phases": phases, "seed": seed, "archive_vanished": archive_vanished}
    own = with_room(cleaned(given, allow_unknown_task=allow_unknown_task), Rotation())
    trigger = {field: value for field, value in (("cron", cron), ("every", every)) if value is not None}
    of_routine = clean_new({"name": name} | (trigger or {"every": TICKS_EVERY}) | policies)
    refuse_on_rotation(of_routine)
    with verb_transaction("name", of_routine["name"]):
        routine = insert(OF_A_ROTATION | of_routine, actor=actor, reason=reason, told=own)
        rotation = Rotation(routine=routine, **own)
        rotation.save(using=ledger_alias(), force_insert=True)
    return rotation
