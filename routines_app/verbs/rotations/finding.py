"""Which routines there are already of those that are to be members, to leave or to be touched.

Questions are asked by batches of names or ids, however many there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from routines_app.core.errors import InvalidValue, NotAllowed, NotFound
from routines_app.core.rotation import TICK_TASK
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Rotation, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import LARGEST_ID, RoutineRef
from routines_app.verbs.checking.rules import is_storable

BATCH = 1_000

Each = TypeVar("Each")


class There(NamedTuple):
    """A routine that is there, as far as membership asks."""

    id: int
    name: str
    rotation_id: int | None
    status: str
    trigger_kind: str
    task: str
    depth: int


def batches(items: Sequence[Each]) -> Iterator[Sequence[Each]]:
    for begin in range(0, len(items), BATCH):
        yield items[begin : begin + BATCH]


def by_name(names: Collection[str]) -> dict[str, There]:
    """Those that there are, and what the database takes for one of them: MariaDB finds names in other letters too."""
    return {each.name: each for batch in batches(sorted(set(names))) for each in _read(name__in=batch)}


def by_id(ids: Collection[int]) -> dict[int, There]:
    return {each.id: each for batch in batches(sorted(set(ids))) for each in _read(pk__in=batch)}


def members_of(rotation: Rotation, refs: Iterable[RoutineRef], field: str) -> list[int]:
    """The ids of members that are given by name, id or instance, in their order. Refuses what is none of them."""
    given = refs_of(refs, field)
    names = by_name([ref for ref in given if isinstance(ref, str)])
    ids = by_id([ref for ref in given if isinstance(ref, int)])
    members = set()
    for number, ref in enumerate(given):
        there = names.get(ref) if isinstance(ref, str) else ids.get(ref)
        if there is None:
            raise NotFound(f"{field}[{number}]", ref, said("no routine has that name or id"))
        if there.rotation_id != rotation.pk:
            raise NotAllowed(
                f"{field}[{number}]", there.name, said("it is no member of {rotation}", rotation=rotation.name)
            )
        members.add(there.id)
    return sorted(members)


def all_members(rotation: Rotation) -> list[int]:
    routines = Routine.objects.using(ledger_alias()).filter(rotation_id=rotation.pk)
    return list(routines.order_by("pk").values_list("pk", flat=True))


def refuse_joining(there: There, place: str, rotation: Rotation) -> None:
    """Refuse what cannot be a member, as long as it is what it is now."""
    why = None
    if there.task == TICK_TASK:
        why = said("it is a rotation's own routine, which is nobody's member")
    elif there.status == RoutineStatus.ARCHIVED:
        why = said("it is archived")
    elif there.rotation_id not in (None, rotation.pk):
        why = said(
            "it is a member of another rotation: remove it there first, or use update_routine(routine, rotation=…)"
        )
    elif there.trigger_kind != TriggerKind.MANUAL:
        why = said("it is {trigger}: only a routine that fires by hand is a member", trigger=there.trigger_kind)
    if why is not None:
        raise NotAllowed(place, there.name, why)


def _read(**which: Any) -> list[There]:
    routines = Routine.objects.using(ledger_alias()).filter(**which).order_by()
    return [There(*row) for row in routines.values_list("pk", *There._fields[1:])]


def refs_of(refs: Any, field: str) -> list[str | int]:
    """Names and ids of what is given: an instance counts by its id."""
    if isinstance(refs, str | bytes) or not isinstance(refs, Iterable):
        raise InvalidValue(field, refs, said("give a list of names, ids or routines"))
    return [_ref(ref, f"{field}[{number}]") for number, ref in enumerate(refs)]


def _ref(ref: Any, place: str) -> str | int:
    if isinstance(ref, Routine):
        return int(ref.pk or 0)
    if isinstance(ref, str) and is_storable(ref):
        return ref
    if isinstance(ref, int) and not isinstance(ref, bool) and abs(ref) <= LARGEST_ID:
        return ref
    raise InvalidValue(place, ref, said("give a Routine, its id or its name"))
