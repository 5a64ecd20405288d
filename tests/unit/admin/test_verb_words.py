"""The words of verbs: for each of them there are some, and they are asked for in whose language is active."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.utils import translation

from routines_app.admin import actions, rotation_verb_pages
from routines_app.admin.hint_words import how_long, how_often
from routines_app.admin.released_slots import Release
from routines_app.admin.rotation_verbs import MEMBER_VERBS
from routines_app.admin.verb_acts import Undone
from routines_app.admin.verb_buttons import VERBS
from routines_app.core.said import said_of
from routines_app.core.triggers import Span
from routines_app.models import Routine

MONDAY = datetime(2027, 10, 25, tzinfo=UTC)


def test_every_action_of_the_list_can_say_what_it_did_to_many() -> None:
    """The name of an action is its verb's slug."""
    slugs = {action.__name__.removesuffix("_routines").replace("_", "-") for action in actions.LIST_ACTIONS}
    assert slugs == actions.DONE.keys()


def test_every_verb_that_takes_members_one_by_one_can_say_what_it_did_to_many() -> None:
    assert {verb.slug for verb in MEMBER_VERBS.values() if verb.act} == rotation_verb_pages.DONE.keys()


def test_labels_follow_the_language_of_whoever_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made when the module is imported, where no language is known."""
    monkeypatch.setattr(translation._trans, "gettext", lambda text: f"⟦{text}⟧")
    assert str(VERBS["pause"].label) == "⟦Pause⟧"
    assert (MEMBER_VERBS["pause"].label, MEMBER_VERBS["resume"].label) == ("⟦Pause⟧ …", "⟦Resume⟧")
    asks = next(action for action in actions.LIST_ACTIONS if action.__name__ == "pause_routines")
    assert str(asks.short_description) == "⟦Pause⟧ …"  # type: ignore[attr-defined]


def test_what_was_not_done_still_knows_its_template() -> None:
    """A page translates it like any other sentence."""
    undone = Undone.of(said_of(2, "{count} run", "{count} runs"))
    assert (undone, undone.template, undone.plural, undone.number) == ("2 runs", "{count} run", "{count} runs", 2)


@pytest.mark.parametrize(
    ("ms", "often", "long"),
    [
        (86_400_000, "every day", "1 day"),
        (7_200_000, "every 2 hours", "2 hours"),
        (60_000, "every minute", "1 minute"),
        (90_000, "every 90 seconds", "90 seconds"),
        (1_500, "every 1s 500ms", "1s 500ms"),
    ],
)
def test_a_hint_is_said_in_the_largest_whole_unit(ms: int, often: str, long: str) -> None:
    assert (how_often(ms), how_long(ms)) == (often, long)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, ("1 slot skipped, nothing runs", "1 run", "1 run, oldest first, one at a time")),
        (2, ("2 slots skipped, nothing runs", "1 run, 1 slot skipped", "2 runs, oldest first, one at a time")),
        (
            5_000,
            (
                "5,000 slots skipped, nothing runs",
                "1 run, 4,999 slots skipped",
                "5,000 runs, oldest first, one at a time",
            ),
        ),
    ],
)
def test_what_a_pause_kept_back_is_said_in_whole_sentences(count: int, words: tuple[str, ...]) -> None:
    """For each way of resuming; with its number in it, and the right one of both forms."""
    release = Release(Routine(name="nightly"), Span(first=MONDAY, last=MONDAY, count=count))
    assert (release.skip, release.last, release.all) == words


def test_a_pause_that_kept_nothing_back_says_so() -> None:
    release = Release(Routine(name="nightly"), None)
    assert (release.skip, release.last, release.all) == ("nothing to skip", "nothing to run", "nothing to run")
