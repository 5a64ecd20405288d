"""What is written from code is what the code says now, and whole."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import routines_app
from routines_app import service, signals
from routines_app.conf import Settings
from routines_app.core.words import Reason, Source
from tests.pages import ROOT, text_of

PACKAGE = Path(routines_app.__file__).parent


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("reference.__main__")


def test_the_pages_are_up_to_date(reference: ModuleType) -> None:
    """`make reference` writes them."""
    assert reference.stale(reference.pages()) == []


def test_a_page_that_is_not_would_be_found(reference: ModuleType) -> None:
    found = reference.pages()
    assert reference.stale(found | {"settings.md": found["settings.md"] + "x"}) == ["settings.md"]


def named() -> Iterator[tuple[str, str]]:
    """What must stand on which page, found in another way than the pages find it."""
    yield from (("docs/settings.md", f"| `{name.upper()}` |") for name in Settings.__dataclass_fields__)
    yield from (("docs/service.md", f"- `{name}") for name in service.__all__)
    yield from (("docs/reference.md", f"| `{word.value}` |") for word in (*Reason, *Source) if word)
    yield from (
        ("docs/reference.md", f"| `{name}` | `routine-") for name in vars(signals) if re.match("ru|routine_", name)
    )
    for path in PACKAGE.rglob("*checks.py"):
        for number in re.findall(r"\b([EW]0\d\d)\"", path.read_text(encoding="utf-8")):
            yield "docs/reference.md", f"| `routines.{number}` |"
    for path in (PACKAGE / "management" / "subcommands").glob("[a-z]*.py"):
        if path.stem not in ("pool", "rotation"):  # these have subcommands of their own
            yield "docs/commands.md", f"\n## {path.stem.rstrip('_').replace('_', '-')}\n"


def test_nothing_is_missing() -> None:
    assert [each for each in named() if each[1] not in text_of(each[0])] == []


def test_everything_that_is_public_says_what_it_does() -> None:
    """A verb, a value, a setting or a word without a text would be a line that says nothing."""
    for page in ("docs/settings.md", "docs/service.md", "docs/reference.md"):
        assert [line for line in text_of(page).splitlines() if re.search(r"`: $|\|  \|$", line)] == [], page


def test_what_to_do_about_each_reason_is_told() -> None:
    page = text_of("docs/why.md")
    assert [reason.value for reason in Reason if reason and f"`{reason.value}`" not in page] == []


def test_security_says_what_each_permission_allows() -> None:
    asked = re.findall(r"^\| `routines\.([a-z_]+)` \|", text_of("docs/reference.md"), flags=re.MULTILINE)
    untouched = {"add_routinerun", "change_routinerun", "delete_routinerun"}  # nobody edits runs
    page = text_of("docs/security.md")
    assert [name for name in asked if f"`{name}`" not in page and name not in untouched] == []
