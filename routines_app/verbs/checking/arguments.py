"""Arguments of a task: strict JSON, of a bounded size."""

from __future__ import annotations

import json
from typing import Any

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.masks import MASK, entries
from routines_app.verbs.checking import sizes
from routines_app.verbs.checking.rules import is_storable

# Deeper than any real argument. MariaDB takes 31 levels, and the history stands around them.
MAX_NESTING = 25
_STORABLE = said("JSON values only: text, finite numbers, true, false, null, lists and objects with text keys")


def positional(field: str, value: Any) -> list[Any]:
    """A task's positional arguments, as the list that is stored."""
    if not isinstance(value, list | tuple):
        raise InvalidValue(field, value, said("give a list of arguments"))
    return _stored(field, list(value))  # type: ignore[no-any-return]


def named(field: str, value: Any) -> dict[str, Any]:
    """A task's keyword arguments, as the object that is stored."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidValue(field, value, said("give a dictionary with text keys"))
    return _stored(field, value)  # type: ignore[no-any-return]


def longest_json() -> int:
    """How many characters of JSON may be typed for arguments; what is stored of them is bounded more strictly."""
    return get_settings().max_arguments_bytes * sizes.JSON_PER_BYTE


def _stored(field: str, value: Any) -> Any:
    """What comes back from the database later: checked before it is encoded, copied by encoding it."""
    _check(field, value, MAX_NESTING)
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    limit = get_settings().max_arguments_bytes
    if (size := len(text.encode())) > limit:
        raise InvalidValue(
            field,
            value,
            said("at most {limit} bytes of JSON; these are {size}. Pass a reference instead", limit=limit, size=size),
        )
    return json.loads(text)


def _check(field: str, value: Any, levels: int) -> None:
    """Refuse what JSON would change or a database would not store."""
    if levels == 0:
        raise InvalidValue(field, value, said("nest at most {most} levels", most=MAX_NESTING))
    match value:
        case None | bool():
            return
        case list() | tuple() | dict():
            _check_entries(field, value, levels)
        case int():
            # PostgreSQL's jsonb takes any number; 2**63 is where other readers start to round.
            if not -(2**63) <= value < 2**63:
                raise InvalidValue(field, value, said("whole numbers of at most 64 bits; give larger ones as text"))
        case float():
            if value != value or value in (float("inf"), float("-inf")):
                raise InvalidValue(field, value, said("{expected} (no NaN, no infinity)", expected=_STORABLE))
        case str():
            _check_text(field, value)
        case _:
            raise InvalidValue(field, value, _STORABLE)


def _check_entries(field: str, value: Any, levels: int) -> None:
    for key, entry, secret in entries(value):
        if isinstance(value, dict):
            if not isinstance(key, str):
                raise InvalidValue(field, key, _STORABLE)
            _check_text(field, key)
        try:
            _check(field, entry, levels - 1)
        except InvalidValue as error:
            if secret:  # which only its name says, and that is known here alone
                raise InvalidValue(field, MASK, error.expected) from None
            raise


def _check_text(field: str, text: str) -> None:
    if MASK in text:
        raise InvalidValue(
            field, text, said("{mask} stands for a value that is hidden: give the value itself", mask=MASK)
        )
    if not is_storable(text):
        raise InvalidValue(field, text, said("text without NUL characters and lone surrogates: databases refuse them"))
