"""Which tests run on each database in `make test`, and which on PostgreSQL alone: the rule, in one place.

A test belongs on each database when the answer of the database can decide it:

- everything in FOLDERS: statements with a portable twin, locks, races, the clock, migrations;
- every test that says itself that databases differ: it, or what it uses of its module, asks for the vendor or its
  features, has rows held, or works in several threads;
- what `statements.txt` names: tests that ask statements which none of these asks (`tests/statements.py` finds them);
- whatever is marked `each_database` by hand: above all what a database makes of odd values.

So each shape of a statement that any integration test asks, whatever plain columns it names, is asked of each
database. What is left out are other cases of the same shapes: other arguments, refusals, words and pages. They mostly
take another way through Python, and no other one through the database. `make test EVERYTHING=1` runs all everywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

INTEGRATION = Path(__file__).parent / "integration"
LIST = Path(__file__).parent / "statements.txt"
FOLDERS = ("found_by_the_model", "protocol/conformance", "protocol/ledger", "races", "schema")
KNOWS_THAT_THEY_DIFFER = re.compile(
    r"connection\.(vendor|features)|from tests\.integration\.(holding|races\.\w+) import"
    r"|ThreadPoolExecutor|threading\.(Thread|Barrier)|from threading import"
)
OF_ALL = re.compile(r"autouse=True")
"""A fixture that every test of its module uses, without naming it."""


def mark(items: list[pytest.Item], listed: frozenset[str]) -> None:
    """Mark those that run on each database; on PostgreSQL, and without `-m each_database`, all run."""
    for item in items:
        if item.nodeid in listed or asks_what_differs(item):
            item.add_marker(pytest.mark.each_database)


def listed() -> frozenset[str]:
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def asks_what_differs(item: pytest.Item) -> bool:
    if INTEGRATION not in item.path.parents:
        return False
    outermost = item.nodeid.split("::")[1].partition("[")[0]  # the test, or the class that it is in
    return is_whole(item.path) or outermost in names_that_differ(item.path)


@cache
def is_whole(module: Path) -> bool:
    """Whether all tests of a module belong on each database, because of its folder."""
    folder = f"{module.relative_to(INTEGRATION).parent}/"
    return any(folder.startswith(f"{one}/") for one in FOLDERS)


@cache
def names_that_differ(module: Path) -> frozenset[str]:
    """What a module defines or imports that knows of the difference by itself, or by something else that it uses."""
    text = module.read_text(encoding="utf-8")
    if not KNOWS_THAT_THEY_DIFFER.search(text):
        return frozenset()
    sources, used = {}, {}
    for statement in ast.parse(text).body:
        for name in names_of(statement):
            sources[name] = source_of(statement, text)
            used[name] = set(names_in(statement))
    found: set[str] = set()
    more = {name for name, source in sources.items() if KNOWS_THAT_THEY_DIFFER.search(source)}
    while more:
        found |= more
        more = {name for name, names in used.items() if names & more} - found
    if any(name == "pytestmark" or OF_ALL.search(sources[name]) for name in found):
        found |= sources.keys()
    return frozenset(found)


def names_of(statement: ast.stmt) -> list[str]:
    """What a statement of a module gives names to."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ImportFrom(names=names) | ast.Import(names=names):
            return [alias.asname or alias.name for alias in names]
        case ast.Assign(targets=targets):
            return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Expr() | ast.AugAssign():
            return []
    raise ValueError(f"line {statement.lineno}: what a {type(statement).__name__} of a test module defines")


def source_of(statement: ast.stmt, text: str) -> str:
    """With its decorators, which Python counts to no definition."""
    first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
    return "\n".join(text.splitlines()[first - 1 : statement.end_lineno])


def names_in(statement: ast.stmt) -> Iterator[str]:
    """What it uses: by name, as a fixture, or by a text that names a fixture."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Constant(value=str(name)):
                yield name
