"""docs/faults.md names the tests that show what it says: they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"
BELOW = ROOT / "tests" / "acceptance"
NAMED = re.compile(r"`((?:[\w./]*/)?test_[\w*]+\.py)(?:::(test_\w+))?…?`")


def missing(text: str) -> list[str]:
    """Files that there are not, from the root or from `tests/acceptance`, and tests that they do not have."""
    return [match[0] for match in NAMED.finditer(text) if not is_there(match[1], match[2] or "")]


def is_there(name: str, test: str) -> bool:
    base = ROOT if name.startswith("tests/") else BELOW
    found = (base / name).resolve().parent.glob(Path(name).name)
    return any(f"def {test}" in path.read_text(encoding="utf-8") for path in found)


def test_every_test_that_the_page_names_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(NAMED.findall(text)) > 50
    assert missing(text) == []


def test_every_fault_has_a_test() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) > 40
    assert [row for row in rows if not NAMED.search(row) and "the same test" not in row] == []


@pytest.mark.parametrize(
    "name", ["faults/test_fault_55_x.py", "../integration/test_x.py", "test_stack.py::test_fault_x"]
)
def test_one_that_is_not_there_would_be_found(name: str) -> None:
    assert missing(f"| 1 | … | `{name}…` |") == [f"`{name}…`"]
