"""Comments and docstrings name a setting, never its number: the number is the project's to change."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import routines_app
from routines_app.conf import Settings

PACKAGE = Path(routines_app.__file__).parent
# Where it is kept so far.
KEPT = (
    "beat/declared.py",
    "beat/entries.py",
    "checks.py",
    "conf.py",
    "models",
    "protocol/end/catch_up.py",
    "protocol/plan",
    "verbs",
)
NUMBERS = {f"{field.default:g}" for field in fields(Settings) if field.name.endswith("_seconds")}
LENGTH = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(NUMBERS)))}) ?(?:s|seconds)(?!\w)")


def prose(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from node.value.value.splitlines()


def modules() -> Iterator[Path]:
    for kept in KEPT:
        path = PACKAGE / kept
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def test_no_comment_states_the_number_of_a_setting():
    found = [f"{path.name}: {line}" for path in modules() for line in prose(path.read_text()) if LENGTH.search(line)]
    assert found == []


@pytest.mark.parametrize("line", ['"""Looks again after 1.5 s."""', "x = 1  # a lease lives for 30 seconds", "# 25s"])
def test_such_a_number_would_be_found(line: str):
    assert any(LENGTH.search(text) for text in prose(line))
