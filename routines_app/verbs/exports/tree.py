"""Parents, as an import leaves them: nobody stands below itself, nor too deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.verbs.exports.plan_values import Problems
from routines_app.verbs.exports.wanted import Wanted
from routines_app.verbs.family import MAX_DEPTH


def depths_of(wanted: Iterable[Wanted], there: Mapping[str, str | None], problems: Problems) -> dict[str, int]:
    """How deep each of the entries stands then. `there`: whose parent is whose now, also of those above them."""
    entries = list(wanted)
    parents = dict(there) | {each.name: each.said("parent") for each in entries}
    depths: dict[str, int] = {}
    for each in entries:
        with problems.of(each.section, each.name):
            depths[each.name] = _depth(each.name, parents, depths)
    return depths


def _depth(name: str, parents: Mapping[str, str | None], depths: Mapping[str, int]) -> int:
    steps, at, seen = 0, parents.get(name), {name}
    while at is not None:
        if at in seen:
            raise InvalidValue(
                "parent", parents.get(name), said("give a routine that is not below this one, nor itself")
            )
        seen.add(at)
        steps += 1
        if at in depths:
            steps += depths[at]
            break
        at = parents.get(at)
    if steps > MAX_DEPTH:
        raise InvalidValue("parent", parents.get(name), said("nest at most {most} levels", most=MAX_DEPTH))
    return steps
