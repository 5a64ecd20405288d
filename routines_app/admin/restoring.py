"""What a person meant who edited arguments in which secrets were masked."""

from __future__ import annotations

import json
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.masks import MASK, masked

AGAIN = "the mask cannot be matched with a stored value any more"


def restored(field: str, edited: Any, stored: Any) -> Any:
    """The edited value with the stored secret in the place of each mask that was left alone.

    A mask stands for a secret only where it was shown. One that was moved, renamed, or shifted in its list could get
    the secret of something else, so it is refused and the value has to be typed again.
    """
    shown = masked(stored)
    if _same(edited, shown):
        return stored
    return _restored(field, edited, stored, shown, "")


def _restored(field: str, edited: Any, stored: Any, shown: Any, where: str) -> Any:
    if not _holds_mask(edited):
        return edited
    if isinstance(edited, str) and edited == shown and stored != MASK:
        return stored
    if isinstance(edited, dict) and isinstance(shown, dict):
        return {
            key: _restored(field, item, stored.get(key), shown.get(key), f"{where}.{key}" if where else key)
            for key, item in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list) and not _moved(edited, shown):
        return [_restored(field, item, stored[at], shown[at], f"{where}[{at}]") for at, item in enumerate(edited)]
    raise InvalidValue(field, MASK, f"type the value of {_first_mask(edited, where)} again: {AGAIN}")


def _moved(edited: list[Any], shown: list[Any]) -> bool:
    """Whether an item may stand at another place than before, as far as one can tell by what was shown of it."""
    if len(edited) != len(shown):
        return True
    return any(
        _holds_mask(item) and not _same(item, shown[at]) and any(_same(item, other) for other in shown)
        for at, item in enumerate(edited)
    )


def _holds_mask(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_mask(item) for item in value.values())
    if isinstance(value, list):
        return any(_holds_mask(item) for item in value)
    return isinstance(value, str) and MASK in value


def _first_mask(value: Any, where: str) -> str:
    if isinstance(value, dict):
        key = next(key for key, item in value.items() if _holds_mask(item))
        return _first_mask(value[key], f"{where}.{key}" if where else key)
    if isinstance(value, list):
        at = next(at for at, item in enumerate(value) if _holds_mask(item))
        return _first_mask(value[at], f"{where}[{at}]")
    return where


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, where true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
