"""Hiding what looks secret, by the name that stands before it, wherever arguments, results and texts are shown."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from routines_app.conf import get_settings

MASK = "••••••"
ENDLESS = ('"""', "'''", "-----BEGIN")  # values that go on over lines
QUOTED = re.compile(r""" "(?:[^"\\]|\\.)*"? | '(?:[^'\\]|\\.)*'? """, re.VERBOSE | re.DOTALL)


def masked(value: Any) -> Any:
    """A copy of a JSON value with a mask for what stands under a secret-looking key, or after one in a text."""
    if isinstance(value, dict):
        return {key: _hidden(item) if looks_secret(key) else masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return masked_line(value) if isinstance(value, str) else value


def masked_line(text: str) -> str:
    """A text without what follows a secret-looking name: `token=…`, `"password": "…"`, `Authorization: Bearer …`.

    Nobody can tell where such a value ends, so the rest of its line goes, and the rest of the text when a bracket
    is left open: better too little to read than a part of a secret.
    """
    names, shown, at = _secret_names(get_settings().secret_patterns), [], 0
    while found := names.search(text, at):
        shown += [text[at : found.end()], MASK]
        at = _end_of_value(text, found.end())
    return "".join([*shown, text[at:]])


def looks_secret(key: object) -> bool:
    folded = str(key).lower().replace("-", "_")
    return any(pattern.lower() in folded for pattern in get_settings().secret_patterns)


def _hidden(value: Any) -> Any:
    return value if value in (None, "", [], {}) else MASK


@lru_cache(maxsize=8)
def _secret_names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """A secret-looking name up to the value after it. The bounds keep long texts from being read again and again."""
    names = "|".join(re.escape(pattern).replace("_", "[-_ ]") for pattern in patterns) or "(?!)"
    return re.compile(rf"""(?:{names})[\w.-]{{0,40}}\\*["']?\]?\s{{0,40}}[:=]+>?\s*(?=\S)""", re.IGNORECASE)


def _end_of_value(text: str, start: int) -> int:
    if text.startswith(ENDLESS, start):
        return len(text)
    quoted = QUOTED.match(text, start)
    end = text.find("\n", quoted.end() if quoted else start)
    if end == -1 or _leaves_open(text[start:end]):
        return len(text)
    return end


def _leaves_open(line: str) -> bool:
    """Whether a bracket is open at the end of the line; those in quotes do not count."""
    depth = 0
    for letter in re.findall(r"[(\[{)\]}]", QUOTED.sub("", line)):
        depth = depth + 1 if letter in "([{" else max(0, depth - 1)
    return depth > 0
