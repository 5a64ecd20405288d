"""What a person meant who sends arguments back in which secrets were masked.

Whoever may run or change a routine need not know its secrets, and must not get at them: a secret goes where it was
meant to go, or nowhere. Positional and named arguments are one set, because either may say where the task sends the
other (`{"url": …, "token": "••••••"}`), and so does everything that says who executes it, as the options of its message
do. A mask is restored when all of that is as it was shown, and refused when any of it has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.said import Said, said
from routines_app.masks import MASK, masked

PARTS = {"args": said("the arguments"), "kwargs": said("the named arguments")}
ROUTINE_PARTS = PARTS | {"options": said("the message options"), "phases": said("the phases")}
DESTINATION = {"task": said("the task"), "queue": said("the queue")}
"""What else says where arguments go: another task or another worker may send them anywhere."""
STALE = said("the routine (after this page was loaded)")


def changed_arguments(
    given: Mapping[str, Any], stored: Mapping[str, Any], also_changed: Sequence[str] = ()
) -> dict[str, Any] | None:
    """All parts that are stored as they were sent; None when they are what is stored, masks and all.

    `given` has the parts that were sent: a part that was not is the stored one. `also_changed` names what else differs
    of where they go. Raises `InvalidValue` for a secret that would travel.
    """
    shown = {part: masked(value) for part, value in stored.items()}
    differing = [part for part in stored if part in given and not _same(given[part], shown[part])]
    changed = [*(ROUTINE_PARTS[part] for part in differing), *also_changed]
    if not changed:
        return None
    found = {part: given.get(part, shown[part]) for part in stored}
    for part, value in found.items():
        if (where := _first_mask(value)) is not None:
            raise InvalidValue(part, MASK, _type_it_anew(where, changed))
    return found


def _type_it_anew(where: str, changed: Sequence[str]) -> Said:
    those = reduce(lambda first, last: said("{first} and {last}", first=first, last=last), changed)
    if not where:
        return said(
            "this is hidden; because {changed} changed, type it anew, or leave everything as it was", changed=those
        )
    return said(
        "{where} is hidden; because {changed} changed, type it anew, or leave everything as it was",
        where=where,
        changed=those,
    )


def _first_mask(value: Any) -> str | None:
    """Where the first mask is, as one would write it; None without one. Not recursive: people nest what they like."""
    waiting = [("", value)]
    while waiting:
        where, found = waiting.pop()
        if isinstance(found, str) and MASK in found:
            return where
        if isinstance(found, dict):
            if any(MASK in key for key in found):
                return where
            parts = [(f"{where}.{key}" if where else key, item) for key, item in found.items()]
        else:
            parts = [(f"{where}[{at}]", item) for at, item in enumerate(found)] if isinstance(found, list) else []
        waiting += reversed(parts)
    return None


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, where true is not 1. What is too deep to be written is not what was shown."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except RecursionError:
        return False
