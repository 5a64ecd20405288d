"""What a name may consist of."""

from __future__ import annotations

import pytest

from routines_app.core.errors import InvalidValue
from routines_app.verbs.checking.names import Label, Name

LABEL, NAME = Label(longest=100), Name(longest=100)


@pytest.mark.parametrize(
    "name",
    [
        "nightly report",
        "team/sync #2",
        "2nd",
        "+2",
        "2.0",
        "Übersicht — Zürich",
        "تقرير ليلي",
        "夜間レポート",
        "⚠\ufe0f alarm",
        "🚀",
        "क\u093c",
    ],
)
def test_what_is_seen_is_accepted_in_every_script(name: str) -> None:
    """And stored as it was given; a symbol may ask to be drawn as an emoji."""
    assert NAME("name", name) == name


UNSEEN = {
    "control": ["\x00", "\x1b", "\x7f", "\x85", "\x9b"],
    "direction": ["\u202e", "\u202a", "\u2066", "\u2069", "\u200e", "\u061c"],
    "zero width": ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u034f", "\U000e0041"],
    "lines": ["\n", "\r", "\u2028", "\u2029"],
    "blank": ["\u00a0", "\u3000", "\u2800", "\u3164", "\u115f"],
    "variation": ["\ufe0f", "\ufe00", "\u180b", "\U000e0100"],
    "surrogate": ["\ud800"],
}


@pytest.mark.parametrize("character", [one for some in UNSEEN.values() for one in some], ids=ascii)
def test_what_cannot_be_seen_or_misleads_is_refused_by_its_code_point(character: str) -> None:
    """Two names that look the same are one name to whoever reads them."""
    with pytest.raises(InvalidValue) as refused:
        LABEL("group", f"re{character}port")
    assert refused.value.field == "group"
    assert f"U+{ord(character):04X}" in refused.value.expected
    assert str(refused.value).isprintable()


def test_the_character_is_named_where_unicode_has_a_name_for_it() -> None:
    """A person can look for it."""
    with pytest.raises(InvalidValue, match=r"without U\+202E \(RIGHT-TO-LEFT OVERRIDE\)"):
        LABEL("group", "re\u202eport")


@pytest.mark.parametrize("digits", ["2", " 2 ", "007", "9" * 100, "\uff12", "\u0663", "\u00b2"])
def test_digits_alone_are_no_name(digits: str) -> None:
    """They would be read as an id. A group or a tag may be a number."""
    with pytest.raises(InvalidValue, match="digits only"):
        NAME("name", digits)
    assert LABEL("group", digits) == digits.strip()


def test_a_name_is_in_composed_form_and_never_changed_silently() -> None:
    """Two spellings of one letter would be two routines that nobody can tell apart."""
    with pytest.raises(InvalidValue, match=r"composed form .*: Zürich$"):
        NAME("name", "Zu\u0308rich")
    assert NAME("name", "Z\u00fcrich") == "Z\u00fcrich"
