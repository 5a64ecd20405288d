"""Which tests run on each database in `make test`, and which on PostgreSQL alone: the rule, in one place.

A test belongs on each database when the answer of the database can decide it:

- everything in FOLDERS: statements with a portable twin, locks, races, the clock;
- every module that says itself that databases differ: it asks for the vendor or its features, has rows held, or
  works in several threads;
- what `statements.txt` names: tests that ask statements which none of these asks (`tests/statements.py` finds them);
- whatever is marked `each_database` by hand.

So each statement that any integration test asks is asked of each database. What is left out are other cases of the same
statements: other arguments, refusals, words and pages. They take another way through Python, and no other one through
the database. `make test EVERYTHING=1` runs all of them everywhere.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

INTEGRATION = Path(__file__).parent / "integration"
LIST = Path(__file__).parent / "statements.txt"
FOLDERS = ("found_by_the_model", "protocol/conformance", "protocol/ledger", "races")
KNOWS_THAT_THEY_DIFFER = re.compile(
    r"connection\.(vendor|features)|from tests\.integration\.holding import"
    r"|ThreadPoolExecutor|threading\.(Thread|Barrier)"
)


def mark(items: list[pytest.Item], listed: frozenset[str]) -> None:
    """Mark those that run on each database; on PostgreSQL, and without `-m each_database`, all run."""
    for item in items:
        if item.nodeid in listed or asks_what_differs(item.path):
            item.add_marker(pytest.mark.each_database)


def listed() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


@cache
def asks_what_differs(module: Path) -> bool:
    """Whether all tests of a module belong on each database."""
    if INTEGRATION not in module.parents:
        return False
    folder = f"{module.relative_to(INTEGRATION).parent}/"
    return any(folder.startswith(f"{one}/") for one in FOLDERS) or bool(
        KNOWS_THAT_THEY_DIFFER.search(module.read_text(encoding="utf-8"))
    )
