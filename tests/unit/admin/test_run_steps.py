"""Where the time of a run went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from routines_app.admin.run_steps import Wait, steps_of
from routines_app.core.keys import uuid7_int
from routines_app.models import Pool, RoutineRun

SLOT = datetime(2027, 10, 25, 3, 0, tzinfo=UTC)
STAMPS = ("eligible_at", "admitted_at", "dispatched_at", "started_at", "completed_at")


def ms(number: float) -> datetime:
    return SLOT + timedelta(milliseconds=number)


def make(created: float = 2, **fields: Any) -> RoutineRun:
    """A run that was created so many milliseconds after its slot."""
    pk = UUID(int=uuid7_int(int(ms(created).timestamp() * 1000), 7))
    return RoutineRun(id=pk, **({"scheduled_for": SLOT, "eligible_at": SLOT, "trigger": "schedule"} | fields))


def told(run: RoutineRun, now: datetime) -> list[tuple[str, float]]:
    return [(wait.words, round(wait.seconds * 1000)) for wait in _waits(run, now)]


def _waits(run: RoutineRun, now: datetime) -> list[Wait]:
    return [wait for wait, _ in steps_of(run, now).rows]


def test_each_wait_has_its_name_and_length() -> None:
    """From the slot to the end, without a gap."""
    run = make(
        status="SUCCESS",
        pool=Pool(name="warehouse"),
        eligible_at=ms(1002),
        admitted_at=ms(4002),
        dispatched_at=ms(4007),
        started_at=ms(4047),
        completed_at=ms(4058),
    )
    assert told(run, ms(9000)) == [
        ("Until a beat claimed it", 2),
        ("Waited for its time", 1000),
        ("Waited in pool warehouse", 3000),
        ("Waited to be sent", 5),
        ("In the broker", 40),
        ("Ran", 11),
    ]
    assert steps_of(run, ms(9000)).seconds == 4.058


def test_a_retry_has_waited_since_it_was_created() -> None:
    """Not since the slot, where the attempts before it ran."""
    run = make(60_000, status="FAILED", trigger="retry", attempt=2, eligible_at=ms(70_000), admitted_at=ms(70_000))
    run.started_at, run.completed_at = ms(70_100), ms(70_200)
    assert told(run, ms(90_000)) == [("Waited for its time", 10_000), ("Until it started", 100), ("Ran", 100)]


def test_what_has_not_ended_lasts_until_now() -> None:
    """A run that runs, one in the broker, one that is held, and one whose time has not come."""
    running = make(2, status="RUNNING", admitted_at=ms(2), dispatched_at=ms(3), started_at=ms(4))
    assert told(running, ms(1004))[-1] == ("Ran", 1000)
    assert [wait.lasts for wait in _waits(running, ms(1004))] == [False, False, False, True]
    in_broker = make(2, status="PENDING", admitted_at=ms(2), dispatched_at=ms(3))
    assert told(in_broker, ms(503))[-1] == ("In the broker", 500)
    assert told(make(2, status="PENDING"), ms(502))[-1] == ("Held back", 500)
    assert told(make(2, status="PENDING", eligible_at=ms(9000)), ms(502))[-1] == ("Waited for its time", 500)


def test_nothing_is_told_that_is_not_known() -> None:
    """Handed back: it was on its way before. Started before it was stamped: the broker's part is unknown."""
    again = make(2, status="PENDING", publish_count=2, eligible_at=ms(5000))
    assert told(again, ms(6000)) == [
        ("Until a beat claimed it", 2),
        ("Until it was eligible", 4998),
        ("Held back", 1000),
    ]
    raced = make(0, status="SUCCESS", admitted_at=ms(0), dispatched_at=ms(60), started_at=ms(50), completed_at=ms(70))
    assert told(raced, ms(6000)) == [("Until it started", 50), ("Ran", 20)]
    skipped = make(5000, status="SKIPPED", completed_at=ms(5000))
    assert told(skipped, ms(9000)) == [("Until a beat claimed it", 5000)]
    made_up = make(8_000, status="SUCCESS", started_at=ms(10), completed_at=ms(30))
    assert steps_of(made_up, ms(9000)).created_at is None


@given(
    st.integers(-5000, 5000),
    st.dictionaries(st.sampled_from(STAMPS), st.integers(-5000, 5000).map(ms)),
    st.sampled_from(["PENDING", "RUNNING", "SUCCESS", "SKIPPED"]),
    st.integers(0, 5000).map(ms),
)
def test_waits_follow_each_other_whatever_the_row_says(
    created: int, stamps: dict[str, datetime], status: str, now: datetime
) -> None:
    """Plain SQL can write anything, and two machines' measurements of the time differ."""
    waits = _waits(make(created, status=status, **stamps), now)
    assert all(wait.seconds >= 0 for wait in waits)
    assert all(one.end == later.start for one, later in pairwise(waits))
