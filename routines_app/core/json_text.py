"""JSON that is still text: how deep it nests, asked before anything recurses into it."""

from __future__ import annotations

import re

READ_LEVELS = 100  # more than is ever accepted, and far from where an interpreter gives up

_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)  # one pass, whatever the text


def nests_deeper(text: str, levels: int) -> bool:
    """Whether lists and objects stand in each other at more levels than that; of text that is no JSON, a guess."""
    if text.count("[") + text.count("{") <= levels:  # nearly always, and in no time
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        letter = text[found.start()]
        if letter in "[{":
            depth += 1
            if depth > levels:
                return True
        elif letter in "]}":
            depth -= 1
    return False
