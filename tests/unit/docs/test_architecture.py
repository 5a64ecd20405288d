"""The map is true: what the pages about the inside name is there, and each folder's row names what is in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "routines_app"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ARCHITECTURE, ROOT / "docs" / "faults.md", ROOT / "CONTRIBUTING.md"]
PACKAGES = sorted(path for path in PACKAGE.rglob("__init__.py") if "migrations" not in path.parts)
NOT_MODULE_BY_MODULE = {"core", "models", "verbs"}  # their modules are the words themselves, or one verb each
NO_MODULES = {"now", "random", "apply_async", "beat_schedule", "fresh_for", "plan_leases"}  # that rows speak of
ENDINGS = "py|sql|lua|md|js|po|txt|toml|json|conf"
ROW = re.compile(r"^\| `([a-z_/]+)/` \| (.*) \|$", re.MULTILINE)
FILE = re.compile(r"`(?:\.\./)*((?:\.?\w+/)*\w+\.(?:py|sql|lua))`")
DEFINED_IN = re.compile(r"`((?:\w+/)*\w+)\.py`((?: ?(?:`\w+(?:\.\w+)*`)(?:,(?= `))?)+)")
DOTTED = re.compile(rf"`((?:\w+/)*[a-z]\w*)\.(?!(?:{ENDINGS})\b)(\w+(?:\.\w+)*)`")
SLASHED = re.compile(r"`((?:\w+/)+\w+)`")
BARE = re.compile(r"`([a-z_]+)`")


@cache
def files() -> list[str]:
    folders = ("routines_app", "project", "tests", "benchmarks", ".ci", "docs")
    found = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return [f"/{path.relative_to(ROOT)}" for path in [*found, ROOT / "manage.py"]]


def places(name: str) -> list[str]:
    """The files of that name, which is as long as it has to be."""
    return [path for path in files() if path.endswith(f"/{name}")]


def defines(module: str, name: str) -> bool:
    """Whether a module of that name defines all parts of `Class.method`, or a `CONSTANT`."""
    return any(set(name.split(".")) <= defined_in(path) for path in places(f"{module}.py"))


@cache
def defined_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path[1:]).read_text(encoding="utf-8"))
    return frozenset(_names(tree, passes_on=path.endswith("/service.py")))


def _names(tree: ast.AST, *, passes_on: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names) if passes_on:
                yield from (alias.name for alias in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def prose(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return text if page.suffix == ".md" else (ast.get_docstring(ast.parse(text)) or "")


@pytest.mark.parametrize("page", [*PAGES, *PACKAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_named_is_there(page: Path) -> None:
    text = prose(page)
    gone = [name for name in FILE.findall(text) if not places(name) and "_NN_" not in name]
    gone += [
        f"{file}.py {name}"
        for file, names in DEFINED_IN.findall(text)
        for name in re.findall(r"[\w.]+", names)
        if not defines(file, name)
    ]
    gone += [
        f"{module}.{name}" for module, name in DOTTED.findall(text) if is_ours(module) and not defines(module, name)
    ]
    gone += [
        name for name in SLASHED.findall(text) if not (places(f"{name}.py") or places(name) or (ROOT / name).exists())
    ]

    assert gone == []


def is_ours(module: str) -> bool:
    """`outbox.stamp` is, and so is whatever has a folder before it; `self.retry` is somebody else's."""
    return "/" in module or bool(places(f"{module}.py"))


def test_each_row_names_the_modules_of_its_folder_and_no_others() -> None:
    rows = dict(ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))
    wrong = {}
    for folder, row in rows.items():
        there = {path.stem for path in (PACKAGE / folder).rglob("*") if path.suffix == ".py" or path.is_dir()}
        modules = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
        named = set(BARE.findall(row))
        unnamed = set() if folder in NOT_MODULE_BY_MODULE else modules - named
        if unnamed or named - there - NO_MODULES or not modules:
            wrong[folder] = (unnamed, named - there - NO_MODULES)

    assert wrong == {}


def test_every_folder_has_a_row() -> None:
    rows = dict(ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))
    by_part = {"protocol", "verbs"}  # of these each folder has one
    folders = {path.parent.relative_to(PACKAGE) for path in PACKAGES} - {Path()}
    expected = {str(folder) for folder in folders if len(folder.parts) == 1 + (folder.parts[0] in by_part)}
    in_the_diagram = {"admin", "management", "templatetags", "migrations"}  # interfaces, which a newcomer knows

    assert expected - in_the_diagram <= rows.keys()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_every_package_says_what_lives_there(package: Path) -> None:
    assert prose(package) or package.parent.name == "commands", "say in a few lines what lives there, and what may not"
