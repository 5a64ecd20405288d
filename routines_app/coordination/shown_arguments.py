"""What a message shows of its run to monitors, which read no ledger: masked arguments, and the routine's name.

Flower, `celery events` and the worker's log take `argsrepr` and `kwargsrepr` as they are. The routine stands among the
keyword arguments, in the first place: `{'routine': 'nightly report', 'account': 7}`; as `of_routine` where the task has
an argument of that name itself. What is long is cut.
"""

from __future__ import annotations

import json
from functools import lru_cache

from routines_app.conf import get_settings
from routines_app.core.json_text import READ_LEVELS, nests_deeper
from routines_app.masks import masked

LONGEST = 1024  # characters that are shown, as in Celery
MOST_READ = 8_000  # characters of stored JSON; of what is longer nothing is shown
IN_THE_ROW = "in the run's row"  # where arguments are that a message does not know, or that are too long
REMEMBERED = 10_000  # different arguments
LONGEST_KEPT = 300  # characters of stored JSON whose picture is remembered: thousands of long ones would fill a beat

Patterns = tuple[tuple[str, ...], tuple[str, ...]]


def patterns() -> Patterns:
    """Which names are secret here: what was masked by others is not remembered."""
    settings = get_settings()
    return settings.secret_patterns, settings.not_secret


def shown_args(stored: str, known: Patterns) -> str:
    """The positional arguments, of which the JSON is given as it is stored."""
    if stored == "[]":
        return "()"
    return (_args if len(stored) <= LONGEST_KEPT else _args.__wrapped__)(stored, known)


@lru_cache(maxsize=REMEMBERED)
def _args(stored: str, _: Patterns) -> str:
    value = _read(stored)
    return _cut(repr(tuple(masked(value)))) if isinstance(value, list) else f"({IN_THE_ROW})"


def shown_kwargs(stored: str, routine: str, known: Patterns) -> str:
    """The named arguments and the routine's name."""
    if stored == "{}":
        return f"{{'routine': {routine!r}}}"
    name, others = (_others if len(stored) <= LONGEST_KEPT else _others.__wrapped__)(stored, known)
    return f"{{'{name}': {routine!r}, {others}"


@lru_cache(maxsize=REMEMBERED)
def _others(stored: str, _: Patterns) -> tuple[str, str]:
    """Under which name the routine is shown, and the other arguments with the brace that ends them."""
    value = _read(stored)
    if not isinstance(value, dict) or not value:
        return "routine", f"... ({IN_THE_ROW})}}"
    return "of_routine" if "routine" in value else "routine", _cut(repr(masked(value)))[1:]


def _cut(text: str) -> str:
    """What is stored is short enough to be written whole first; Celery's own way takes many times as long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}...{text[-1]}"


def _read(stored: str) -> object:
    """None where it is too long, too deep or no JSON: plain SQL can write anything."""
    if len(stored) > MOST_READ or nests_deeper(stored, READ_LEVELS):
        return None
    try:
        return json.loads(stored)
    except ValueError:
        return None
