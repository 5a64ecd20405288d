"""Every error of ours says what would be right so that pages can say it in another language."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import routines_app
from routines_app.core import errors

PACKAGE = Path(routines_app.__file__).parent
FOLDERS = ("core", "verbs", "protocol", "coordination")
ERRORS = {
    name
    for name, each in vars(errors).items()
    if isinstance(each, type) and issubclass(each, errors.RoutineError) and each is not errors.ImportRefused
}
EXPECTED = 2  # its place among the arguments
NAMED_SO = {"expected", "EXPECTED"}
"""Names of variables that hold what is expected, on its way to an error."""


def _plain(source: str) -> Iterator[tuple[int, str]]:
    """Texts that nobody can translate, where an error takes what is expected, or where that is put together."""
    for node in ast.walk(ast.parse(source)):
        for text in (*_of_error(node), *_of_variable(node)):
            if _is_plain(text):
                yield text.lineno, ast.unparse(text)


def _of_error(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and _name(node.func) in ERRORS:
        yield from node.args[EXPECTED : EXPECTED + 1]
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "expected")


def _of_variable(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign) and any(_name(target) in NAMED_SO for target in node.targets):
        yield node.value


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _is_plain(node: ast.expr) -> bool:
    """A literal, an f-string, or what is made of them without `said`; variables and calls are passed on."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) or _is_plain(right)
        case ast.BoolOp(values=values):
            return any(map(_is_plain, values))
        case ast.IfExp(body=body, orelse=orelse):
            return _is_plain(body) or _is_plain(orelse)
        case ast.Call(func=ast.Attribute(value=value, attr="join" | "format" | "strip")):
            return _is_plain(value)
    return False


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_expected_is_said(folder: str) -> None:
    """`said("give at most {most}", most=5)` remembers what it was made of; an f-string does not."""
    files = sorted((PACKAGE / folder).rglob("*.py"))
    found = {str(path.relative_to(PACKAGE)): list(_plain(path.read_text(encoding="utf-8"))) for path in files}
    assert {path: plain for path, plain in found.items() if plain} == {}


@pytest.mark.parametrize(
    "source",
    [
        'InvalidValue("field", 1, "give 2")',
        'InvalidValue("field", 1, f"give {most}")',
        'errors.NotAllowed("field", 1, expected="give " + most)',
        'Held("field", 1, "give 2" if most else said("give 3"))',
        'NotFound("field", 1, " or ".join(names))',
        'expected = f"give {most}"',
    ],
)
def test_plain_texts_are_found(source: str) -> None:
    assert list(_plain(source))


@pytest.mark.parametrize(
    "source",
    [
        'InvalidValue("field", 1, said("give {most}", most=most))',
        'InvalidValue("field", f"{1} of them", error.expected)',
        'NotAllowed("field", 1, WAYS[name] if name else _expected(name))',
        "expected = together(', ', parts)",
    ],
)
def test_what_is_said_or_passed_on_is_not(source: str) -> None:
    assert not list(_plain(source))
