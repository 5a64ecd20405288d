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
NOT_OURS = {"execution/process.py": 1}  # lines that tell such a number of somebody else's
NUMBERS = {f"{field.default:g}" for field in fields(Settings) if field.name.endswith("_seconds")}
LENGTH = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(NUMBERS)))}) ?(?:s|seconds)(?!\w)")

EXAMPLE = re.compile(r"`[^`]*`")  # what somebody may type is no setting


def prose(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield EXAMPLE.sub("", token.string)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from EXAMPLE.sub("", node.value.value).splitlines()


def test_no_comment_states_the_number_of_a_setting() -> None:
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if lines := [line.strip() for line in prose(path.read_text(encoding="utf-8")) if LENGTH.search(line)]:
            found[path.relative_to(PACKAGE).as_posix()] = lines
    assert {name: lines for name, lines in found.items() if len(lines) > NOT_OURS.get(name, 0)} == {}


@pytest.mark.parametrize("line", ['"""Looks again after 1.5 s."""', "x = 1  # a lease lives for 30 seconds", "# 25s"])
def test_such_a_number_would_be_found(line: str):
    assert any(LENGTH.search(text) for text in prose(line))
