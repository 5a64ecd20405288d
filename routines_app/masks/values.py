"""Secrets in values: under a secret name, after one in a list, beside one in an object, and in strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from routines_app.masks.secret_names import looks_secret
from routines_app.masks.texts import CUT, MASK, masked_line

DEEPEST = 60  # levels, more than arguments may have; what is below is not shown
LABELS = frozenset({"name", "key", "field", "header", "variable", "option"})
LABELLED = frozenset({"value", "values", "val", "content", "data", "default"})

_NAME = re.compile(r"-{0,2}[\w.-]{1,80}:?", re.ASCII)


def masked(value: Any) -> Any:
    """A copy of a JSON value with a mask in the place of each secret. What cannot be read is hidden as a whole."""
    try:
        return _masked(value, DEEPEST)
    except Exception:  # noqa: BLE001 - a value of somebody's own class may raise anything
        return MASK


def holds_secret(value: Any) -> bool:
    """Whether some of it is not shown."""
    return bool(masked(value) != value)


def masked_json(text: str) -> str:
    """JSON with masks in it, as JSON; the same text where it has no secrets."""
    try:
        value = json.loads(text)
        shown = masked(value)
        return text if shown == value else json.dumps(shown)
    except (ValueError, RecursionError):  # no JSON, numbers of too many digits, or too deep to be read
        line = masked_line(text)
        return text if line == text else json.dumps(line)


def entries(value: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterator[tuple[Any, Any, bool]]:
    """What a value consists of: the key or place, what is there, and whether that is to be hidden."""
    if isinstance(value, dict):
        labelled = any(_folded(key) in LABELS and _is_secret_name(item) for key, item in value.items())
        for key, item in value.items():
            yield key, item, looks_secret(key) or (labelled and _folded(key) in LABELLED)
        return
    hidden = False
    for at, item in enumerate(value):
        yield at, item, hidden
        is_option = isinstance(item, str) and item.startswith("-")
        hidden = (is_option or (at == 0 and len(value) == 2)) and _is_secret_name(item)


def _masked(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return masked_line(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if levels == 0:
        return CUT
    if isinstance(value, dict):
        return {_key(key): _shown(item, hide, levels) for key, item, hide in entries(value)}
    items = [_shown(item, hide, levels) for _, item, hide in entries(value)]
    return items if isinstance(value, list) else tuple(items)


def _shown(item: Any, hide: bool, levels: int) -> Any:
    return _hidden(item) if hide else _masked(item, levels - 1)


def _key(key: Any) -> Any:
    return masked_line(key) if isinstance(key, str) else key


def _hidden(value: Any) -> Any:
    """That there is nothing, or a yes or no, is no secret."""
    is_empty = isinstance(value, str | list | tuple | dict) and not value
    return value if value is None or isinstance(value, bool) or is_empty else MASK


def _is_secret_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None and looks_secret(value)


def _folded(key: Any) -> str:
    return key.lower() if isinstance(key, str) else ""
