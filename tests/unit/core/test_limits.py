"""How long a body may run: the tightest limit holds, and who says nothing limits nothing."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.limits import DEFAULT_SECONDS, Limits, limits

GRACE = 5.0
SECONDS = st.none() | st.integers(0, 1000)


@pytest.mark.parametrize(
    ("timeout_ms", "soft", "hard", "expected"),
    [
        pytest.param(None, None, None, Limits(DEFAULT_SECONDS, None), id="nobody says anything"),
        pytest.param(0, None, None, Limits(inf, None), id="none is wanted"),
        pytest.param(2000, None, None, Limits(2, None), id="the routine's"),
        pytest.param(None, 3, None, Limits(3, DEFAULT_SECONDS + GRACE), id="the task's soft one"),
        pytest.param(0, 3, None, Limits(3, inf), id="the task's soft one, and none is wanted"),
        pytest.param(9000, 3, None, Limits(3, 9 + GRACE), id="the task's soft one, and the routine's"),
        pytest.param(None, None, 4, Limits(4, None), id="the task's hard one"),
        pytest.param(None, 3600, None, Limits(3600, None), id="the task's, longer than the default"),
        pytest.param(0, None, 4, Limits(4, None), id="the task's, though the routine wants none"),
        pytest.param(9000, None, 4, Limits(4, None), id="the task's is tighter"),
        pytest.param(2000, 3, 4, Limits(2, 4), id="the routine's is tighter"),
        pytest.param(2000, None, 4, Limits(2, 4), id="the hard one comes before the grace is over"),
        pytest.param(None, 3, 60, Limits(3, 60), id="the task says how long it may clean up"),
        pytest.param(9000, 3, 60, Limits(3, 9 + GRACE), id="for longer than its routine lets it run"),
        pytest.param(None, 60, 3, Limits(3, None), id="a soft limit behind the hard one"),
        pytest.param(None, 0, 0, Limits(DEFAULT_SECONDS, None), id="0 is none to Celery"),
    ],
)
def test_the_tightest_limit_holds(
    timeout_ms: int | None, soft: float | None, hard: float | None, expected: Limits
) -> None:
    assert limits(timeout_ms, soft=soft, hard=hard, grace=GRACE) == expected


@given(
    timeout_ms=st.none() | st.integers(0, 1_000_000),
    soft=SECONDS,
    hard=SECONDS,
    grace=st.floats(0.5, 60),
)
def test_no_limit_is_exceeded_and_none_is_made_up(
    timeout_ms: int | None, soft: int | None, hard: int | None, grace: float
) -> None:
    found = limits(timeout_ms, soft=soft, hard=hard, grace=grace)
    routine = timeout_ms / 1000 if timeout_ms else inf
    given = [limit for limit in (routine, soft, hard) if limit]
    assert all(found.stop_after <= limit for limit in given)
    assert found.stop_after in (*given, DEFAULT_SECONDS)
    end = found.stop_after + grace if found.end_after is None else found.end_after
    assert end > found.stop_after or found.stop_after == inf
    assert end <= routine + grace
    if hard and found.stop_after < hard:
        assert end <= hard
    # Nobody is ended before somebody has said so.
    usual = [DEFAULT_SECONDS] if timeout_ms is None and not hard else []
    said = [hard or inf, *(each + grace for each in (routine, hard or inf, *usual, *(usual and [found.stop_after])))]
    assert end in said
