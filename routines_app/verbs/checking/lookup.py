"""Finding what a caller means: an instance, an id or a name.

An integer is an id and text is a name, whatever it looks like: a routine that somebody has called `2` is never taken
for the one whose id is 2.
"""

from __future__ import annotations

import uuid
from typing import Any

from routines_app.core.errors import InvalidValue, NotFound
from routines_app.core.listing import either, listed
from routines_app.core.said import Said, said
from routines_app.models import Pool, Rotation, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.rules import is_storable

NAMED = 10  # of those that there are, to whoever asks for one that is not
LARGEST_ID = 2**63 - 1  # beyond it a database raises instead of finding nothing

RoutineRef = Routine | int | str
RunRef = RoutineRun | uuid.UUID | str
RotationRef = Rotation | Routine | int | str


def find_routine(ref: RoutineRef, *, field: str = "routine") -> Routine:
    """The routine as it is stored now."""
    found = Routine.objects.using(ledger_alias()).filter(**_by(ref, field, Routine)).first()
    if found is None:
        raise NotFound(field, ref, _missing(ref))
    return found


def id_of(ref: RoutineRef) -> int:
    """The routine's id; whoever has the routine has looked it up."""
    return ref.pk if isinstance(ref, Routine) and ref.pk is not None else find_routine(ref).pk


def find_run(ref: RunRef, *, field: str = "run") -> RoutineRun:
    """The run as it is stored now, with its routine."""
    run_id = ref.pk if isinstance(ref, RoutineRun) else _uuid(ref, field)
    found = RoutineRun.objects.using(ledger_alias()).select_related("routine").filter(pk=run_id).first()
    if found is None:
        raise NotFound(field, ref, said("no run has that id; it may have been pruned"))
    return found


def find_pool(ref: Pool | int | str, *, field: str = "pool") -> Pool:
    """The pool that is meant: text is a name, an integer an id."""
    found = Pool.objects.using(ledger_alias()).filter(**_by(ref, field, Pool)).first()
    if found is None:
        names = listed(Pool.objects.using(ledger_alias()).values_list("name", flat=True)[:NAMED])
        if isinstance(ref, str):
            raise NotFound(field, ref, said("no pool has that name; there are: {names}", names=names))
        raise NotFound(field, ref, said("no pool has that id; there are: {names}", names=names))
    return found


def find_rotation(ref: RotationRef, *, field: str = "rotation") -> Rotation:
    """The rotation as it is stored now, with its own routine, whose id and name are its."""
    wanted = ref.pk if isinstance(ref, Rotation) else ref
    by = {f"routine__{name}": value for name, value in _by(wanted, field, Routine, "Rotation").items()}
    found = Rotation.objects.using(ledger_alias()).select_related("routine__state").filter(**by).first()
    if found is None:
        names = listed(Rotation.objects.using(ledger_alias()).values_list("routine__name", flat=True)[:NAMED])
        if isinstance(ref, str):
            raise NotFound(field, str(ref), said("no rotation has that name; there are: {names}", names=names))
        raise NotFound(field, str(ref), said("no rotation has that id; there are: {names}", names=names))
    return found


def _by(ref: Any, field: str, model: type[Routine] | type[Pool], called: str = "") -> dict[str, Any]:
    if isinstance(ref, model):
        return {"pk": ref.pk}
    if isinstance(ref, int) and not isinstance(ref, bool):
        return {"pk": ref} if abs(ref) <= LARGEST_ID else {"pk__in": ()}
    if isinstance(ref, str) and is_storable(ref):
        return {"name": ref}
    raise InvalidValue(field, ref, said("give a {kind}, its id or its name", kind=called or model.__name__))


def is_id(text: str) -> bool:
    """Whether text can be the id of a row. The length comes first: Python refuses to read very many digits."""
    fits = len(text) <= len(str(LARGEST_ID)) and text.isascii() and text.isdigit()
    return fits and int(text) <= LARGEST_ID


def _missing(ref: RoutineRef) -> Said:
    """Why nothing was found. Only whoever gives a name is told others: a program or the command line, never a page."""
    if not isinstance(ref, str):
        return said("no routine has that id")
    if ref.isdigit():
        return said("no routine has that name; an id is given as an integer (on the command line: --id)")
    if names := _similar_names(ref):
        return said("no routine has that name; did you mean {names}?", names=either(names))
    return said("no routine has that name")


def _similar_names(name: str) -> list[str]:
    """A suggestion that stays cheap with a million routines: names that start like this one."""
    routines = Routine.objects.using(ledger_alias())
    return list(routines.filter(name__istartswith=name[:5]).values_list("name", flat=True)[:3]) if name else []


def _uuid(ref: object, field: str) -> uuid.UUID:
    if isinstance(ref, uuid.UUID):
        return ref
    try:
        return uuid.UUID(str(ref))
    except ValueError:
        raise InvalidValue(field, ref, said("give a run or its id (a UUID)")) from None
