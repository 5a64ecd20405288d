"""Parents and depth: how deep a routine stands below its ancestors."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.enrol import enrol

MAX_DEPTH = 50  # far beyond any real tree, and an end to every walk


def depth_under(routine: Routine, parent: Routine | None) -> int:
    """The routine's depth below that parent; a parent that descends from the routine itself is refused."""
    ancestor, steps = parent, 0
    while ancestor is not None:
        steps += 1
        if ancestor.pk == routine.pk:  # a routine that is not saved yet equals nobody
            raise InvalidValue("parent", str(parent), said("give a routine that is not below this one, nor itself"))
        if steps > MAX_DEPTH:
            raise InvalidValue("parent", str(parent), said("nest at most {most} levels", most=MAX_DEPTH))
        ancestor = ancestor.parent
    return steps


def move_descendants(routine_id: int, depth: int, now: datetime) -> None:
    """Bring the depths below a routine in line with its own, level by level."""
    routines = Routine.objects.using(ledger_alias())
    level = [routine_id]
    for below in range(depth + 1, depth + MAX_DEPTH + 1):
        level = list(routines.filter(AnyOf("parent_id", level)).values_list("pk", flat=True))
        if not level:
            return
        routines.filter(AnyOf("pk", level)).update(depth=below)
        enrol_members(level, now)


def lose_parent(routine_id: int, now: datetime) -> None:
    """Those below it stand at the top, and what is below them follows: the routine is about to be deleted."""
    children = Routine.objects.using(ledger_alias()).filter(parent_id=routine_id)
    for child_id in list(children.order_by("pk").values_list("pk", flat=True)):
        children.filter(pk=child_id).update(parent=None, depth=0)
        enrol_members([child_id], now)
        move_descendants(child_id, 0, now)


def enrol_members(routine_ids: Collection[int], now: datetime) -> None:
    """Let rotations know how deep those of the routines stand that are members."""
    routines = Routine.objects.using(ledger_alias()).filter(AnyOf("pk", routine_ids), rotation__isnull=False)
    if members := list(routines.values_list("pk", flat=True)):
        enrol(members, now)
