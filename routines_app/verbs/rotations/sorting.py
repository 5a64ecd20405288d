"""What becomes of those that should be members: which are created, which join and which are members already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed, NotFound
from routines_app.core.said import Said, said
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation
from routines_app.verbs.family import MAX_DEPTH
from routines_app.verbs.rotations.finding import There, by_id, by_name, refuse_joining
from routines_app.verbs.rotations.same_names import refuse_alike
from routines_app.verbs.rotations.wanted import Wanted


class New(NamedTuple):
    """One that is to be created."""

    wanted: Wanted
    depth: int
    parent_id: int | None
    """None: it has none, or one that is created before it."""


class Sorted(NamedTuple):
    """What is to be done; everything is checked."""

    new: list[New]
    """Parents before their children."""
    joining: list[int]
    kept: list[Kept]
    passed_over: list[str]
    """Names of routines that are there and may not join."""


class Kept(NamedTuple):
    """One that is a member already."""

    wanted: Wanted
    there: There


def sort_wanted(wanted: Sequence[Wanted], rotation: Rotation, *, joining: bool) -> Sorted:
    """Refuses what cannot be. `joining`: routines that are there become members, where only their name is given.

    Otherwise they are passed over: a seed callable goes on to give what somebody has removed, or moved elsewhere.
    """
    ids = by_id([each.id for each in wanted if each.id is not None])
    there = by_name([each.name for each in wanted if each.id is None])
    todo, new, places = Sorted([], [], [], []), [], dict[int, str]()
    for each in wanted:
        found = there.get(each.name) if each.id is None else ids.get(each.id)
        if found is None:
            new.append(_to_create(each))
            continue
        if (first := places.setdefault(found.id, each.place)) != each.place:
            raise DuplicateName(
                f"{each.place}.name", found.name, said("{first} is the same one: give each one once", first=first)
            )
        if found.rotation_id == rotation.pk:
            todo.kept.append(Kept(each, found))
        elif joining:
            _refuse_unless_joins(each, found, rotation)
            todo.joining.append(found.id)
        else:
            todo.passed_over.append(found.name)
    refuse_alike(new, there)
    return todo._replace(new=_placed(new, there), joining=sorted(todo.joining))


def refuse_archived_members(kept: Sequence[Kept]) -> None:
    """Whoever adds a member wants it to take part."""
    for wanted, there in kept:
        if there.status == RoutineStatus.ARCHIVED:
            raise NotAllowed(wanted.place, there.name, said("it is an archived member: give another name"))


def _to_create(wanted: Wanted) -> Wanted:
    if wanted.id is not None:
        raise NotFound(wanted.place, wanted.name, said("no routine has its id any more"))
    return wanted


def _refuse_unless_joins(wanted: Wanted, found: There, rotation: Rotation) -> None:
    if wanted.joins:
        refuse_joining(found, wanted.place, rotation)
        return
    expected = said(
        "a routine of that name is there, and no member of {rotation}: give another name, or add that one by its name"
        " alone",
        rotation=rotation.name,
    )
    raise DuplicateName(f"{wanted.place}.name", wanted.name, expected)


def _placed(new: Sequence[Wanted], there: Mapping[str, There]) -> list[New]:
    """By depth: parents are among those that there are, or among the new ones."""
    by_new = {each.name: each for each in new}
    outside = {each.parent for each in new if each.parent is not None} - by_new.keys()
    parents = dict(there) | by_name([name for name in outside if name not in there])
    depths: dict[str, int] = {}
    placed = []
    for each in new:
        depth = _depth(each, by_new, parents, depths)
        parent = parents.get(each.parent) if each.parent is not None else None
        placed.append(New(each, depth, None if parent is None else parent.id))
    return sorted(placed, key=lambda each: each.depth)


def _depth(wanted: Wanted, new: Mapping[str, Wanted], parents: Mapping[str, There], depths: dict[str, int]) -> int:
    """How deep it stands; walks up to what is known, and no further than anything may be nested."""
    path: list[Wanted] = []
    at: Wanted | None = wanted
    above = -1  # of what stands above the first of the path
    while at is not None:
        if at.name in depths:
            above = depths[at.name]
            break
        if len(path) > MAX_DEPTH:
            raise InvalidValue(f"{wanted.place}.parent", wanted.parent, _too_deep(path))
        path.append(at)
        if at.parent is None:
            break
        at, above = _above(at, new, parents)
    for each in reversed(path):
        above += 1
        depths[each.name] = above
    if depths[wanted.name] > MAX_DEPTH:
        raise InvalidValue(f"{wanted.place}.parent", wanted.parent, said("nest at most {most} levels", most=MAX_DEPTH))
    return depths[wanted.name]


def _above(wanted: Wanted, new: Mapping[str, Wanted], parents: Mapping[str, There]) -> tuple[Wanted | None, int]:
    """Its parent, if that is new too, or the depth of one that is there."""
    parent = wanted.parent or ""
    if parent in new:
        return new[parent], -1
    if parent not in parents:
        expected = said("no routine has that name, and none that is added with it: give the name of one")
        raise NotFound(f"{wanted.place}.parent", parent, expected)
    return None, parents[parent].depth


def _too_deep(path: Sequence[Wanted]) -> Said:
    if len({each.name for each in path}) < len(path):
        return said("give a routine that is not below this one, nor itself")
    return said("nest at most {most} levels", most=MAX_DEPTH)
