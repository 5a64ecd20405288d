"""Whoever looks for a row lock finds it in one place."""

from __future__ import annotations

import re
from pathlib import Path

import routines_app

PACKAGE = Path(routines_app.__file__).parent
ELSEWHERE = {"verbs/shadow/old_side.py"}  # rows of an old scheduler, which no order of ours concerns


def test_rows_are_locked_in_one_place() -> None:
    found = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if ".select_for_update(" in path.read_text()
    }

    assert found == {"protocol/ledger/locks.py"} | ELSEWHERE


def test_a_statement_that_locks_says_so_in_its_header() -> None:
    """Above it, where whoever changes the statement reads it."""
    silent = []
    for path in PACKAGE.rglob("*.sql"):
        lines = path.read_text(encoding="utf-8").splitlines()
        statement = " ".join(line for line in lines if not line.startswith("--"))
        header = " ".join(line for line in lines if line.startswith("--"))
        if re.search(r"FOR (NO KEY |KEY )?(UPDATE|SHARE)\b", statement) and not re.search(
            r"lock|holds", header, re.IGNORECASE
        ):
            silent.append(path.name)

    assert silent == []
