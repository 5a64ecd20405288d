"""What a routine may say about its messages beside their queue: `{"priority": 4, "headers": {…}, …}`."""

from __future__ import annotations

import json
from typing import Any

from routines_app.coordination.envelope import OWN_HEADERS
from routines_app.coordination.queue_names import refusal_of_exchange
from routines_app.coordination.routing import OPTIONS
from routines_app.coordination.wire_limits import HIGHEST_PRIORITY, is_too_long, long_keys
from routines_app.coordination.wire_limits import LONGEST_BYTES as LONGEST_NAME
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said, together
from routines_app.verbs.checking import arguments
from routines_app.verbs.checking.rules import Integer, Rule, Text, unknown_field

LONGEST_BYTES = 4_000  # of the JSON: each message carries it


def message_options(field: str, value: Any) -> dict[str, Any] | None:
    """The options as they are stored; None without any."""
    if not isinstance(value, dict):
        raise InvalidValue(field, value, said("give an object with any of {these}", these=", ".join(OPTIONS)))
    given = {name: one for name, one in value.items() if one not in (None, "", {})}
    for name, one in given.items():
        if name not in _RULES:
            raise InvalidValue(field, {name: one}, unknown_field(str(name), one, list(OPTIONS)).expected)
    found = {name: _checked(field, name, one) for name, one in given.items()}
    if (size := len(json.dumps(found, ensure_ascii=False).encode())) > LONGEST_BYTES:
        raise InvalidValue(
            field, value, said("at most {most} bytes of JSON; these are {size}", most=LONGEST_BYTES, size=size)
        )
    return found or None


def _checked(field: str, name: str, value: Any) -> Any:
    """The error is about the field as a whole, and says which part of it."""
    try:
        return _RULES[name](name, value)
    except InvalidValue as error:
        raise InvalidValue(field, {name: error.value}, together(": ", [name, error.expected])) from None


def _headers(name: str, value: Any) -> dict[str, Any]:
    found = arguments.named(name, value)
    for own in sorted(OWN_HEADERS & found.keys()):
        raise InvalidValue(
            name, own, said("give headers of your own: {own} is one of Celery's or the broker's", own=own)
        )
    for key in long_keys(found):
        raise InvalidValue(name, key, said("give keys of at most {most} bytes", most=LONGEST_NAME))
    return found


_TEXT = Text(longest=LONGEST_NAME)


def _name(name: str, value: Any) -> str:
    """Bytes count, not characters."""
    found = _TEXT(name, value)
    if is_too_long(found):
        expected = said(
            "give text of at most {most} bytes; this has {size}", most=LONGEST_NAME, size=len(found.encode())
        )
        raise InvalidValue(name, value, expected)
    return found


def _exchange(name: str, value: Any) -> str:
    found = _name(name, value)
    if right := refusal_of_exchange(found):
        raise InvalidValue(name, value, right)
    return found


_RULES: dict[str, Rule] = {
    # Redis takes what is above its last step for that.
    "priority": Integer(least=0, most=HIGHEST_PRIORITY),
    "headers": _headers,
    "exchange": _exchange,
    "routing_key": _name,
}
