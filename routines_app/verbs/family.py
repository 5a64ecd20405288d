"""Parents and depth: how deep a routine stands below its ancestors."""

from __future__ import annotations

from routines_app.core.errors import InvalidValue
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias

MAX_DEPTH = 50  # far beyond any real tree, and an end to every walk


def depth_under(routine: Routine, parent: Routine | None) -> int:
    """The routine's depth below that parent; a parent that descends from the routine itself is refused."""
    ancestor, steps = parent, 0
    while ancestor is not None:
        steps += 1
        if ancestor.pk == routine.pk:  # a routine that is not saved yet equals nobody
            raise InvalidValue("parent", str(parent), "give a routine that is not below this one, nor itself")
        if steps > MAX_DEPTH:
            raise InvalidValue("parent", str(parent), f"nest at most {MAX_DEPTH} levels")
        ancestor = ancestor.parent
    return steps


def move_descendants(routine_id: int, depth: int) -> None:
    """Bring the depths below a routine in line with its own, level by level."""
    routines = Routine.objects.using(ledger_alias())
    level = [routine_id]
    for below in range(depth + 1, depth + MAX_DEPTH + 1):
        level = list(routines.filter(parent_id__in=level).values_list("pk", flat=True))
        if not level:
            return
        routines.filter(pk__in=level).update(depth=below)
