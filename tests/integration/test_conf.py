"""Settings that would do harm are refused, with the reason."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from routines_app.conf import get_settings


@pytest.mark.parametrize(
    "seconds",
    [
        {"HEARTBEAT_SECONDS": 25.0, "ORPHAN_SECONDS": 25.0, "LEASE_SECONDS": 90.0},
        {"HEARTBEAT_SECONDS": 10.0, "ORPHAN_SECONDS": 25.0, "LEASE_SECONDS": 20.0},
    ],
)
def test_hearts_that_beat_too_rarely_are_refused(seconds: dict[str, float]) -> None:
    """A living run must not be called an orphan, nor lose its lease between two beats."""
    with (
        override_settings(ROUTINES=settings.ROUTINES | seconds),
        pytest.raises(ImproperlyConfigured, match="HEARTBEAT"),
    ):
        get_settings()


def test_a_lease_that_outlasts_two_heartbeats_is_accepted() -> None:
    """One more than the least is enough."""
    seconds = {"HEARTBEAT_SECONDS": 10.0, "ORPHAN_SECONDS": 10.5, "LEASE_SECONDS": 20.5}
    with override_settings(ROUTINES=settings.ROUTINES | seconds):
        assert get_settings().lease_seconds == 20.5


@pytest.mark.parametrize("queues", ["mails", [""], [1], {"mails": 1}, 3, True])
def test_queues_are_a_list_of_names(queues: object) -> None:
    """A text would be the queues of its letters."""
    with (
        override_settings(ROUTINES=settings.ROUTINES | {"QUEUES": queues}),
        pytest.raises(ImproperlyConfigured, match=r"QUEUES.*a list of names"),
    ):
        get_settings()


@pytest.mark.parametrize(("given", "kept"), [(None, None), ([], ()), ({"b", "a"}, ("a", "b"))])
def test_any_queue_some_or_none_may_be_allowed(given: object, kept: object) -> None:
    with override_settings(ROUTINES=settings.ROUTINES | {"QUEUES": given}):
        assert get_settings().queues == kept


@pytest.mark.parametrize("seeds", ["shop.feeds.members", [""], ["members"], [1], {"shop.feeds.members"}, None])
def test_seeds_are_a_list_of_dotted_paths(seeds: object) -> None:
    """A text would be its letters."""
    with (
        override_settings(ROUTINES=settings.ROUTINES | {"SEEDS": seeds}),
        pytest.raises(ImproperlyConfigured, match=r"SEEDS.*a list of dotted paths"),
    ):
        get_settings()


def test_the_callables_of_rotations_are_listed() -> None:
    with override_settings(ROUTINES=settings.ROUTINES | {"SEEDS": ["shop.feeds.members"]}):
        assert get_settings().seeds == ("shop.feeds.members",)


@pytest.mark.parametrize(
    ("name", "value"), [("EVENTS", 1), ("EVENTS", "yes"), ("LOG_FORMAT", "xml"), ("LOG_FORMAT", None)]
)
def test_what_is_none_of_a_few_words_is_refused(name: str, value: object) -> None:
    with (
        override_settings(ROUTINES=settings.ROUTINES | {name: value}),
        pytest.raises(ImproperlyConfigured, match=rf"{name}.*is not accepted: one of "),
    ):
        get_settings()


@pytest.mark.parametrize(
    ("name", "value"), [("EVENTS", None), ("EVENTS", True), ("EVENTS", False), ("LOG_FORMAT", "json")]
)
def test_each_of_them_is_accepted(name: str, value: object) -> None:
    with override_settings(ROUTINES=settings.ROUTINES | {name: value}):
        assert getattr(get_settings(), name.lower()) is value
