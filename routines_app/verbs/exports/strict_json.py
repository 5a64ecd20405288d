"""Exports as JSON: read strictly."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.json_text import nests_deeper
from routines_app.core.said import said
from routines_app.verbs.checking.arguments import MAX_NESTING
from routines_app.verbs.checking.typed_json import DIGITS

AN_OBJECT = said("an object")
LEVELS = MAX_NESTING + 10  # the file's own, around those of arguments


def read(text: str) -> Any:
    """The value. What JSON readers disagree about is refused: a key twice, numbers that are none."""
    if nests_deeper(text, LEVELS):
        raise too_deep()
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=whole, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise InvalidValue(
            "file", f"line {error.lineno}, column {error.colno}", said("give JSON ({msg})", msg=error.msg)
        ) from None


def too_deep() -> InvalidValue:
    return InvalidValue("file", "…", said("nest at most {most} levels", most=LEVELS))


def twice(key: str, where: str = AN_OBJECT) -> InvalidValue:
    return InvalidValue("file", key, said("{where} has this key twice: give it once", where=where))


def whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise InvalidValue("file", digits[:DIGITS], said("whole numbers of at most 64 bits; give larger ones as text"))
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise twice(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


def _no_number(name: str) -> Any:
    raise InvalidValue("file", name, said("give finite numbers"))
