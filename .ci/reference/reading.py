"""What Python does not keep of source code: the texts below attributes, and the comments above lists."""

from __future__ import annotations

import ast
import inspect
import re
from types import ModuleType


def texts_below(owner: type | ModuleType) -> dict[str, str]:
    """The names that are assigned in a class or a module, each with the text below it, or an empty one."""
    tree = ast.parse(inspect.getsource(owner))
    body = tree.body[0].body if isinstance(owner, type) else tree.body  # type: ignore[attr-defined]
    found: dict[str, str] = {}
    for line, following in zip(body, [*body[1:], None], strict=True):
        if name := _assigned(line):
            found[name] = _text(following)
    return found


def _assigned(line: ast.stmt) -> str:
    target = (
        line.target if isinstance(line, ast.AnnAssign) else line.targets[0] if isinstance(line, ast.Assign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""


def _text(line: ast.stmt | None) -> str:
    if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str):
        return inspect.cleandoc(line.value.value)
    return ""


def groups_of_all(module: ModuleType) -> dict[str, list[str]]:
    """What a module's `__all__` lists, below the comment that stands above it."""
    groups: dict[str, list[str]] = {}
    comment = ""
    for line in re.findall(r"^# (.*)\n|^__all__ \+?= (\[[^]]*\])", inspect.getsource(module), flags=re.MULTILINE):
        comment = line[0] or comment
        if line[1]:
            groups.setdefault(comment, []).extend(ast.literal_eval(line[1]))
    return groups


def first_paragraph(text: str | None) -> str:
    """As one line."""
    return one_line(inspect.cleandoc(text or "").split("\n\n")[0])


def one_line(text: str) -> str:
    return " ".join(text.split())


def cell(text: str) -> str:
    """What may stand in a table: a bar would begin the next cell."""
    return one_line(text).replace("|", "\\|")
