"""The map is true: what the pages about the inside name is there, and each folder's row names what is in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "routines_app"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ARCHITECTURE, ROOT / "docs" / "faults.md", ROOT / "CONTRIBUTING.md"]
PACKAGES = sorted(PACKAGE.rglob("__init__.py"))
NOT_MODULE_BY_MODULE = {"core", "models", "verbs"}  # their modules are the words themselves, or one verb each
ROW = re.compile(r"^\| `([a-z_/]+)/` \| (.*) \|$", re.MULTILINE)
FILE = re.compile(r"`(?:\.\./)*((?:\.?\w+/)*\w+\.(?:py|sql|lua))`")
DEFINED_IN = re.compile(r"`((?:\w+/)*\w+)\.py` `(\w+(?:\.\w+)*)`")
DOTTED = re.compile(r"`((?:\w+/)+\w+)\.(?!(?:py|sql|lua)\b)(\w+(?:\.\w+)*)`")
SLASHED = re.compile(r"`((?:\w+/)+\w+)`")


@cache
def files() -> list[str]:
    found = (
        path
        for folder in ("routines_app", "project", "tests", "benchmarks", ".ci")
        for path in (ROOT / folder).rglob("*")
    )
    return [f"/{path.relative_to(ROOT)}" for path in [*found, ROOT / "manage.py"]]


def places(name: str) -> list[str]:
    """The files of that name, which is as long as it has to be."""
    return [path for path in files() if path.endswith(f"/{name}")]


def defines(module: str, name: str) -> bool:
    """Whether a module of that name has all parts of `Class.method`, or of `CONSTANT`."""
    texts = [(ROOT / path[1:]).read_text(encoding="utf-8") for path in places(f"{module}.py")]
    return any(
        all(re.search(rf"(def|class) {part}\b|^\s*{part}\b", text, re.MULTILINE) for part in name.split("."))
        for text in texts
    )


def prose(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    return text if page.suffix == ".md" else text.split('"""')[1] if '"""' in text else ""


@pytest.mark.parametrize("page", [*PAGES, *PACKAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_named_is_there(page: Path) -> None:
    text = prose(page)
    gone = [name for name in FILE.findall(text) if not places(name) and "_NN_" not in name]
    gone += [f"{module}.py {name}" for module, name in DEFINED_IN.findall(text) if not defines(module, name)]
    gone += [
        f"{module}.{name}"
        for module, name in DOTTED.findall(text)
        if places(f"{module}.py") and not defines(module, name)
    ]

    assert gone == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_named_without_its_ending_is_there(page: Path) -> None:
    gone = [
        name
        for name in SLASHED.findall(prose(page))
        if not (places(f"{name}.py") or places(name) or (ROOT / name).exists())
    ]

    assert gone == []


def test_each_row_names_all_modules_of_its_folder() -> None:
    rows = dict(ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGES}
    assert {folder for folder in folders if folder.split("/")[0] in ("protocol", "verbs") and "/" in folder} - {
        "verbs/health/notices"
    } <= rows.keys()
    unnamed = {
        f"{folder}/{module.name}"
        for folder, row in rows.items()
        if folder not in NOT_MODULE_BY_MODULE
        for module in (PACKAGE / folder).glob("*.py")
        if module.name != "__init__.py" and f"`{module.stem}`" not in row
    }

    assert unnamed == set()
