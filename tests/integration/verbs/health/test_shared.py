"""Answers that many ask for: the last one at once, and a new one beside it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache

from routines_app.verbs.health.shared import SharedAnswer
from tests.processes import wait_for

NOON = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = {"fresh_seconds": 4, "kept_seconds": 60}


class Question:
    """One whose answers are counted, and which can be made to wait."""

    def __init__(self) -> None:
        self.asked = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self) -> dict[str, int]:
        self.asked += 1
        number = self.asked
        assert self.go_on.wait(20)
        return {"number": number}


@pytest.fixture
def shared() -> SharedAnswer:
    return SharedAnswer("test-1")


def test_a_fresh_answer_is_everybody_s(shared: SharedAnswer) -> None:
    """It is asked for once, and says when; another process finds it in the cache."""
    ask = Question()
    first = shared.latest("all", ask, now=NOON, **LIMITS)
    again = SharedAnswer("test-1").latest("all", ask, now=NOON + timedelta(seconds=3), **LIMITS)
    assert first == again == {"number": 1, "asked_at": NOON}
    assert shared.latest("another", ask, now=NOON, **LIMITS)["number"] == 2


def test_an_old_answer_is_given_at_once_while_one_thread_asks_anew(shared: SharedAnswer) -> None:
    """However many come meanwhile: here, and in another process."""
    ask = Question()
    shared.latest("all", ask, now=NOON, **LIMITS)
    ask.go_on.clear()
    later = NOON + timedelta(seconds=10)
    for one in (shared, shared, SharedAnswer("test-1")):
        assert one.latest("all", ask, now=later, **LIMITS) == {"number": 1, "asked_at": NOON}
    wait_for(lambda: ask.asked == 2, 10, "nobody asked anew")
    ask.go_on.set()
    wait_for(lambda: cache.get(shared._key("all"))["number"] == 2, 10, "the new answer was not kept")
    assert ask.asked == 2


def test_an_answer_that_comes_late_takes_no_newer_one_away(shared: SharedAnswer) -> None:
    """Whoever has done something since then, and asked anew, would not find it the next time."""
    ask = Question()
    shared.latest("all", ask, now=NOON, **LIMITS)
    ask.go_on.clear()
    shared.latest("all", ask, now=NOON + timedelta(seconds=10), **LIMITS)
    wait_for(lambda: ask.asked == 2, 10, "nobody asked anew")
    later = NOON + timedelta(seconds=11)
    shared.renew("all", lambda: {"number": 3}, now=later, kept_seconds=60)
    ask.go_on.set()
    wait_for(lambda: not shared._turn.lock.locked(), 10, "the late answer did not come")

    assert shared.latest("all", ask, now=later, **LIMITS) == {"number": 3, "asked_at": later}


def test_an_answer_that_is_too_old_is_waited_for(shared: SharedAnswer) -> None:
    """Nobody is shown what was so an hour ago; nor what is said to come from the future."""
    ask = Question()
    for at in (NOON, NOON + timedelta(hours=1), NOON):
        found = shared.latest("all", ask, now=at, **LIMITS)
        assert found == {"number": ask.asked, "asked_at": at}
    assert ask.asked == 3


def test_a_question_that_fails_beside_leaves_the_old_answer(
    shared: SharedAnswer, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said, and the next one asks again."""
    ask = Question()
    shared.latest("all", ask, now=NOON, **LIMITS)
    failed = threading.Event()

    def fails() -> dict[str, int]:
        failed.set()
        raise RuntimeError("no database")

    later = NOON + timedelta(seconds=10)
    assert shared.latest("all", fails, now=later, **LIMITS)["number"] == 1
    assert failed.wait(10)
    wait_for(lambda: not shared._turn.lock.locked(), 10, "the turn was kept")
    wait_for(lambda: "could not be renewed: no database" in caplog.text, 10, "nothing was said")
    assert shared.latest("all", ask, now=later, **LIMITS)["number"] == 1
    wait_for(lambda: ask.asked == 2, 10, "nobody asked again")


def test_without_a_cache_each_one_asks(shared: SharedAnswer, settings: pytest.FixtureRequest) -> None:
    """A page is there all the same."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}  # type: ignore[attr-defined]
    ask = Question()
    assert [shared.latest("all", ask, now=NOON, **LIMITS)["number"] for _ in range(2)] == [1, 2]
