"""System checks, read from the source: each call that makes a message, with what does not depend on a project."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import routines_app

PACKAGE = Path(routines_app.__file__).parent
LEVELS = {"_error": "error", "_warning": "warning", "Error": "error", "Warning": "warning"}
UNKNOWN = "…"
WHOLLY_FOUND = {
    "routines.E001": "A setting of `ROUTINES` is unknown, or has a value that is not accepted.",
    "routines.W014": "Another project uses the same `KEY_PREFIX` in the same Redis.",
}
"""For messages of which nothing is known beforehand."""


class Message(NamedTuple):
    id: str
    level: str
    what: str
    hint: str


def found() -> list[Message]:
    """All of them, errors first, each once: one id may be said in several places."""
    messages = {each.id: each for path in sorted(PACKAGE.rglob("*checks.py"), reverse=True) for each in _of_file(path)}
    return sorted(messages.values(), key=lambda each: each.id)


def _of_file(path: Path) -> Iterator[Message]:
    module = import_module(".".join(["routines_app", *path.relative_to(PACKAGE).with_suffix("").parts]))
    for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(scope, ast.FunctionDef):
            yield from _of_function(scope, module)


def _of_function(scope: ast.FunctionDef, module: ModuleType) -> Iterator[Message]:
    for call in ast.walk(scope):
        if not isinstance(call, ast.Call) or (level := LEVELS.get(_name(call.func))) is None:
            continue
        named = {each.arg: each.value for each in call.keywords}
        number, what, hint = call.args if "id" not in named else [named["id"], call.args[0], named["hint"]]
        said = _Said(scope, module, call.lineno)
        for one in said.each(number):
            if one != UNKNOWN:  # the helpers that make all messages pass on what they are given
                name = f"routines.{one.removeprefix('routines.')}"
                yield Message(name, level, WHOLLY_FOUND.get(name) or said.text(what), said.text(hint))


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


class _Said:
    """What an expression says: constants and names of the module as they are, all else as unknown."""

    def __init__(self, scope: ast.FunctionDef, module: ModuleType, until: int) -> None:
        self.names = vars(module)
        lines = [line for line in ast.walk(scope) if isinstance(line, ast.Assign) and line.lineno <= until]
        self.local = {
            line.targets[0].id: line.value
            for line in sorted(lines, key=lambda line: line.lineno)
            if isinstance(line.targets[0], ast.Name)
        }

    def text(self, node: ast.expr) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self.text, node.values))
        if isinstance(node, ast.FormattedValue):
            return self.text(node.value)
        if isinstance(node, ast.Name) and node.id in self.local:
            return self.text(self.local[node.id])
        try:
            code = compile(ast.Expression(node), "check", "eval")
            value = eval(code, {}, dict(self.names))  # nosec B307 # our own source
        except Exception:  # noqa: BLE001 - whatever needs a project
            return UNKNOWN
        return str(value) if isinstance(value, str | int) and str(value) else UNKNOWN

    def each(self, node: ast.expr) -> list[str]:
        """The ids that it may be: one that depends on a condition is two."""
        if isinstance(node, ast.IfExp):
            return [self.text(node.body), self.text(node.orelse)]
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[-1], ast.FormattedValue):
            return self.each(node.values[-1].value)
        if isinstance(node, ast.Name) and node.id in self.local:
            return self.each(self.local[node.id])
        return [self.text(node)]
