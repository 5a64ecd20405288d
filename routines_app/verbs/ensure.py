"""The upsert, for data migrations and set-up code."""

from __future__ import annotations

from typing import Any

from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.create import create_routine
from routines_app.verbs.update import apply_changes


def ensure_routine(
    name: str, *, actor: str = "", reason: str = "", allow_unknown_task: bool = False, **fields: Any
) -> tuple[Routine, bool]:
    """Create the routine, or change what differs from `fields`; says whether it was created.

    `fields` are those of `create_routine`. It sets what it is told, whoever has changed it since, and leaves all other
    fields alone; nothing is written when nothing differs. Two at once make one. A routine that is declared in code, or
    archived, is refused.
    """
    if fields.get("kwargs", {}) is None:
        fields["kwargs"] = {}  # as `create_routine` takes it
    about: dict[str, Any] = {"actor": actor, "reason": reason, "allow_unknown_task": allow_unknown_task}
    if (routine := _find(name)) is None:
        if "task" not in fields:
            raise InvalidValue("task", None, said("give the task of {name!r}: there is no such routine yet", name=name))
        try:
            return create_routine(name, **fields, **about), True
        except DuplicateName:
            routine = _find(name)
            if routine is None:
                raise
            # Somebody else has made it between the look and the insert: now it is there to be changed.
    if routine.is_declared_in_code:
        raise NotAllowed(
            "name", name, said("it is declared in {declared_by}: change it there", declared_by=routine.declared_by)
        )
    return apply_changes(routine.pk, fields, **about), False


def _find(name: str) -> Routine | None:
    return Routine.objects.using(ledger_alias()).filter(name=name).first()
