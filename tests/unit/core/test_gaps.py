"""Every sentence that is said has a template that `make messages` finds, and a value for each of its gaps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import routines_app

PACKAGE = Path(routines_app.__file__).parent
IMPORTED = "from routines_app.core.said import"
TEMPLATES = {"said": slice(0, 1), "said_of": slice(1, 3)}  # where they stand among the arguments


def _wrong(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TEMPLATES:
            yield from ((node.lineno, why) for why in _wrong_with(node, node.func.id))


def _wrong_with(call: ast.Call, name: str) -> Iterator[str]:
    given = {keyword.arg for keyword in call.keywords} | ({"count"} if name == "said_of" else set())
    for template in call.args[TEMPLATES[name]]:
        if not isinstance(template, ast.Constant) or not isinstance(template.value, str):
            yield f"no literal: {ast.unparse(template)}"
        elif given and None not in given:  # without values nothing is filled; `**values` are not seen here
            gaps = {gap for _, gap, _, _ in Formatter().parse(template.value) if gap is not None}
            if gaps - given or given - gaps - {"count"}:
                yield f"{sorted(gaps)} and {sorted(map(str, given))}: {template.value}"


def test_every_gap_has_its_value() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    saying = {str(path.relative_to(PACKAGE)): source for path, source in sources.items() if IMPORTED in source}
    assert len(saying) > 50
    found = {path: list(_wrong(source)) for path, source in saying.items()}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "source",
    [
        "said(text)",
        'said(f"give {most}")',
        'said("give {most}", least=1)',
        'said("give it", most=1)',
        'said_of(2, "{count} run", "{count} of {all}")',
    ],
)
def test_what_is_wrong_is_found(source: str) -> None:
    assert list(_wrong(source))


@pytest.mark.parametrize(
    "source",
    [
        """said('give {"a": 1}')""",
        'said("give {most:,}, {name!r}", most=1, name="a")',
        'said("give {most}", **facts)',
        'said_of(2, "a run of {name}", "{count} runs of {name}", name="a")',
    ],
)
def test_what_is_right_is_not(source: str) -> None:
    assert not list(_wrong(source))
