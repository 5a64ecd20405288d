"""JSON that a person typed, in a form or on the command line."""

from __future__ import annotations

import json
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.json_text import nests_deeper
from routines_app.core.said import said
from routines_app.verbs.checking.arguments import MAX_NESTING, longest_json

DIGITS = 20  # of 64 bits, with a sign; Python itself refuses thousands


def read_json(field: str, text: str) -> Any:
    """The value. Size, depth and digits are looked at before anything recurses or counts: none may end in a crash."""
    if len(text) > (most := longest_json()):
        raise InvalidValue(field, text, said("give at most {most:,} characters", most=most))
    if nests_deeper(text, MAX_NESTING):
        raise InvalidValue(field, text, said("nest at most {most} levels", most=MAX_NESTING))

    def whole(digits: str) -> int:
        if len(digits) > DIGITS:
            raise InvalidValue(field, digits, said("whole numbers of at most 64 bits; give larger ones as text"))
        return int(digits)

    try:
        return json.loads(text, parse_int=whole)
    except json.JSONDecodeError as error:
        raise InvalidValue(field, text, said("give JSON ({error})", error=str(error))) from None
