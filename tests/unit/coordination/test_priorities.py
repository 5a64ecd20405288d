"""A run stands in its queue where its task would stand, or one step before or behind it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kombu import Queue

from routines_app.coordination.priorities import most_of, on_amqp, on_redis
from routines_app.core.words import Priority

STEPS = (0, 3, 6, 9)
WORDS = ("HIGH", "MEDIUM", "LOW")


@pytest.mark.parametrize(
    ("usual", "steps", "sent"),
    [
        pytest.param(None, STEPS, (None, None, 3), id="nothing configured: HIGH is MEDIUM, LOW stands behind"),
        pytest.param(0, STEPS, (0, 0, 3), id="the first step"),
        pytest.param(3, STEPS, (0, 3, 6), id="between two"),
        pytest.param(5, STEPS, (0, 5, 6), id="kombu takes 5 for 3"),
        pytest.param(9, STEPS, (6, 9, 9), id="the last step"),
        pytest.param(200, STEPS, (6, 200, 200), id="beyond the last one"),
        pytest.param(None, (0,), (None, None, None), id="one step"),
        pytest.param(2, (0, 1, 2, 5), (1, 2, 5), id="a project's own steps"),
        pytest.param(None, (1, 5, 9), (5, None, None), id="kombu takes none for the last, where there is no 0"),
        pytest.param(1, (1, 5, 9), (1, 1, 5), id="the first of steps without a 0"),
    ],
)
def test_on_redis_the_words_are_neighbouring_steps(usual: int | None, steps: Sequence[int], sent: tuple[object, ...]):
    assert tuple(on_redis(word, usual, steps) for word in WORDS) == sent


@pytest.mark.parametrize(
    ("usual", "most", "sent"),
    [
        pytest.param(None, None, (None, None, None), id="a queue without priorities"),
        pytest.param(4, None, (4, 4, 4), id="a queue without priorities, a task with one"),
        pytest.param(None, 10, (1, None, None), id="nothing is lower than none"),
        pytest.param(5, 10, (6, 5, 4), id="between"),
        pytest.param(10, 10, (10, 10, 9), id="nothing is higher than x-max-priority"),
        pytest.param(12, 10, (12, 12, 9), id="RabbitMQ takes 12 for 10"),
    ],
)
def test_on_amqp_the_words_are_neighbouring_numbers(usual: int | None, most: int | None, sent: tuple[object, ...]):
    assert tuple(on_amqp(word, usual, most) for word in WORDS) == sent


@given(usual=st.none() | st.integers(0, 255), steps=st.sets(st.integers(1, 9), max_size=6))
def test_high_is_never_behind_and_low_never_before(usual: int | None, steps: set[int]) -> None:
    """Whatever a project has configured."""
    ordered = (0, *sorted(steps))
    places = [max(step for step in ordered if step <= (on_redis(word, usual, ordered) or 0)) for word in WORDS]
    assert places == sorted(places)
    numbers = [on_amqp(word, usual, 9) or 0 for word in WORDS]
    assert [min(number, 9) for number in numbers] == sorted((min(number, 9) for number in numbers), reverse=True)


def test_each_word_is_known() -> None:
    assert set(WORDS) == {word.value for word in Priority}


@pytest.mark.parametrize(
    ("queue", "most"),
    [
        (None, None),
        (Queue("plain"), None),
        (Queue("own", max_priority=7), 7),
        (Queue("argued", queue_arguments={"x-max-priority": 5}), 5),
    ],
)
def test_a_queue_may_say_its_highest_priority_in_two_ways(queue: Queue | None, most: int | None) -> None:
    assert most_of(queue) == most
