"""The catalogs say all that the code says, and nothing else."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import django
import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo

from tests.pages import ROOT

GAPS = ("{count} of {all}", "{count} von {all}")


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("messages")


def test_the_catalogs_are_up_to_date_and_whole(
    messages: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make messages` writes them; people translate."""
    monkeypatch.setattr(sys, "argv", ["messages.py", "--check"])
    assert messages.main() == 0, capsys.readouterr().out


def test_no_translation_ends_an_attribute(messages: ModuleType) -> None:
    """Texts stand in attributes as well: a straight quotation mark in one would end it."""
    for language in messages.LANGUAGES:
        for message in messages.catalog_of(language, messages.found()):
            for text in message.string if isinstance(message.string, tuple) else (message.string,):
                words = re.sub(r"<[^>]*>", "", text or "")
                assert '"' not in words or '"' in str(message.id), (language, text)


def test_djangos_own_messages_stay_as_they_are(messages: ModuleType) -> None:
    """One message has one translation in a project: ours would replace Django's, or the other way round."""
    for language in messages.LANGUAGES:
        ours = messages.catalog_of(language, messages.found())
        for part in ("conf", "contrib/admin"):
            path = Path(django.__file__).parent / part / "locale" / language / "LC_MESSAGES" / "django.mo"
            with path.open("rb") as file:
                theirs = [message for message in read_mo(file) if message.id]
            both = [(message, ours.get(message.id, context=message.context)) for message in theirs]
            assert [message.id for message, our in both if our and _ends(our) != _ends(message)] == []


def _ends(message: Message) -> tuple[str, str]:
    """The form for one and the one for many; what is between them not every catalog has."""
    return (message.string[0], message.string[-1]) if isinstance(message.string, tuple) else (message.string, "")


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


def test_messages_of_code_and_of_templates_are_found(messages: ModuleType) -> None:
    """One of each kind: a word, one with a context, one of many, and a sentence with gaps."""
    catalog = messages.found()
    assert catalog.get("Beats and workers")
    assert catalog.get("Last", context="slots of a pause")
    assert catalog.get(("%(counter)s routine", "%(counter)s routines"))
    assert catalog.get("The data on this page is {seconds} s old.")
    assert catalog.get('History of <a href="%(address)s">%(name)s</a>')
