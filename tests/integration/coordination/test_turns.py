"""Turns: one beat at a time, and nobody gives back what is another's by then."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from routines_app.coordination import redis_client as module
from routines_app.coordination.redis_client import RedisAway, asking, key, problem
from routines_app.coordination.turns import take_turn, turn
from tests.processes import free_port


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_known_state", module._State())


@pytest.mark.usefixtures("redis_url")
def test_one_has_the_turn_until_it_is_done() -> None:
    with turn("import", "app", seconds=30) as first:
        with turn("import", "app", seconds=30) as second, turn("import", "another", seconds=30) as other:
            assert (first, second, other) == (True, False, True)
        assert not take_turn("import", "app", seconds=30), "who did not have it has not given it back"
    assert take_turn("import", "app", seconds=30)


def test_who_took_too_long_leaves_the_next_ones_turn_alone(redis_client: redis.Redis) -> None:
    """The first has been frozen; its turn has run out, and another one's has begun."""
    with turn("losses", seconds=30) as first:
        redis_client.delete(key("losses"))
        assert take_turn("losses", seconds=30, token="the second's")
    assert first
    assert redis_client.get(key("losses")) == "the second's"


def test_a_turn_runs_out(redis_client: redis.Redis) -> None:
    """For one who dies meanwhile."""
    assert take_turn("turn", seconds=4.5)
    assert 4000 < redis_client.pttl(key("turn")) <= 4500


def test_without_redis_it_is_everybodys_turn(settings: Any) -> None:
    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": f"redis://127.0.0.1:{free_port()}"}
    with turn("losses", seconds=30) as first, turn("losses", seconds=30) as second:
        assert (first, second) == (True, True)


@pytest.mark.usefixtures("redis_url")
def test_a_bug_is_not_taken_for_a_redis_that_is_away() -> None:
    """It would be logged as an outage, exclusive work would wait, and nobody would look for the bug."""
    with pytest.raises(ZeroDivisionError), asking():
        1 / 0  # noqa: B018
    assert problem() == ""


def test_an_answer_that_is_no_text_is_of_no_use(redis_client: redis.Redis) -> None:
    redis_client.set(key("ledger"), b"\xff\xfe")
    with pytest.raises(RedisAway), asking() as client:
        client.get(key("ledger"))
