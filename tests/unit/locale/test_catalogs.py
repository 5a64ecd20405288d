"""The catalogs say all that the code says, and nothing else."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import django
import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo

from tests.pages import ROOT

GAPS = ("{count} of {all}", "{count} von {all}")


@pytest.fixture(scope="module")
def messages() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / ".ci")
        yield importlib.import_module("messages")


@pytest.fixture(scope="module")
def catalogs(messages: ModuleType) -> dict[str, Catalog]:
    """By language. Made once: the whole package is read for them."""
    found = messages.found()
    return {language: messages.catalog_of(language, found) for language in messages.LANGUAGES}


def test_the_catalogs_are_up_to_date_and_whole(
    messages: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make messages` writes them; people translate."""
    monkeypatch.setattr(sys, "argv", ["messages.py", "--check"])
    assert messages.main() == 0, capsys.readouterr().out


def test_no_translation_ends_an_attribute(catalogs: dict[str, Catalog]) -> None:
    """Texts stand in attributes as well: a straight quotation mark in one would end it."""
    for language, catalog in catalogs.items():
        for message in catalog:
            for text in _forms(message):
                words = re.sub(r"<[^>]*>", "", text or "")
                assert '"' not in words or '"' in str(message.id), (language, text)


def test_no_message_to_a_person_begins_with_a_name(catalogs: dict[str, Catalog]) -> None:
    """Django's pages begin each with a large letter: the routine `alpha` would be called `Alpha`."""
    for language, catalog in catalogs.items():
        for message in catalog:
            if any(file.endswith("_acts.py") for file, _ in message.locations):
                begins = {form.startswith("{") and not form.startswith("{count") for form in _forms(message)}
                assert begins == {False}, (language, message.string)


def test_djangos_own_messages_stay_as_they_are(catalogs: dict[str, Catalog]) -> None:
    """One message has one translation in a project: ours would replace Django's, or the other way round."""
    for language, ours in catalogs.items():
        for part in ("conf", "contrib/admin"):
            path = Path(django.__file__).parent / part / "locale" / language / "LC_MESSAGES" / "django.mo"
            with path.open("rb") as file:
                theirs = [message for message in read_mo(file) if message.id]
            both = [(message, ours.get(message.id, context=message.context)) for message in theirs]
            assert [message.id for message, our in both if our and _ends(our) != _ends(message)] == []


def _ends(message: Message) -> tuple[str, str]:
    """The form for one and the one for many; what is between them not every catalog has."""
    return _forms(message)[0], _forms(message)[-1]


def _forms(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string)


@pytest.mark.parametrize(
    ("message", "translation", "found"),
    [
        (GAPS[0], GAPS[1], False),
        (GAPS[0], "{count} von allen", True),
        (GAPS[0], "{zahl} von {all}", True),
        (GAPS[0], "", True),
        ("%(name)s is due", "%(name)s ist fällig", False),
        ("%(name)s is due", "ist fällig", True),
        (("one run", "{count} runs"), ("ein Lauf", "{count} Läufe"), False),
        (("one run", "{count} runs"), ("ein Lauf", ""), True),
    ],
)
def test_a_translation_that_lacks_something_is_found(
    messages: ModuleType, message: str | tuple[str, str], translation: str | tuple[str, str], *, found: bool
) -> None:
    catalog = Catalog(locale="de")
    catalog.add(message, translation)
    assert bool(list(messages.problems_of(catalog))) is found


def test_a_translation_that_is_marked_to_be_looked_at_is_found(messages: ModuleType) -> None:
    """It is in the catalog for people, and not in the compiled one."""
    catalog = Catalog(locale="de")
    catalog.add(GAPS[0], GAPS[1], flags=["fuzzy"])
    assert list(messages.problems_of(catalog))


def test_messages_of_code_and_of_templates_are_found(catalogs: dict[str, Catalog]) -> None:
    """One of each kind: a word, one with a context, one of many, and a sentence with gaps."""
    catalog = catalogs["de"]
    assert catalog.get("Beats and workers")
    assert catalog.get("Last", context="slots of a pause")
    assert catalog.get(("%(counter)s routine", "%(counter)s routines"))
    assert catalog.get("The data on this page is {seconds} s old.")
    assert catalog.get('History of <a href="%(address)s">%(name)s</a>')
