"""A month of half-hourly ticks over ten thousand members: nobody starves, and the poisonous pay for themselves.

Why the wait is bounded, with N members of one band and depth, P phases and b picks for each tick. Let X end an attempt
and be owed at once. Another member Y that begins a cycle before X does was tried before X; its next attempt to begin
one comes later than X's last, so Y ranks behind X until X is picked. So each Y takes at most P picks first: one that
begins, and the phases behind it. After at most P(N-1) picks, b for each tick, X is picked: within PN/b ticks, a round.
Later phases that failed are tried again besides, four times at most before they stand in line with those that begin.

Staleness, the time since the last whole cycle, is a round for whom nothing fails. A failure of the first phase, or the
fourth and any further one of a later phase, costs one more round; an earlier one of a later phase the ticks it waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from random import Random

import pytest

from routines_app.core.rotation import CHRONIC_FAILURES, MOST_WAIT_TICKS
from routines_app.core.words import RunStatus
from tests.unit.core.rotating import Cycle, Rotating, Thing, Ticked

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
TICK = timedelta(minutes=30)
MONTH = 30 * 48
MEMBERS = 10_000


@dataclass
class Month:
    """What is looked at while it passes."""

    ticked: list[Ticked] = field(default_factory=list)
    waited: int = 0
    """The most ticks between two attempts of one healthy member."""
    in_flight: int = 0
    """The most that were under way together."""
    cycles: list[Cycle] = field(default_factory=list)
    """Of the healthy: those that ended, and those that go on when the month ends."""
    poisoned: dict[int, list[int]] = field(default_factory=dict)
    """By member, the ticks that went to a phase of it that always fails."""

    def worst(self, rounds: int) -> float:
        """How stale, in ticks, anybody became in cycles that cost so many rounds."""
        return max((staleness(cycle) for cycle in self.cycles if rounds_of(cycle) == rounds), default=0.0)


class Luck:
    """Attempts take a quarter of a tick, some more than one; so many fail, and those of the poisonous always do."""

    def __init__(self, seed: int, failing: float, poison: dict[int, int], slow: float = 0.02) -> None:
        self.random, self.failing, self.poison, self.slow = Random(seed), failing, poison, slow
        self.places = 0
        """For how many ticks, in all, attempts have held a place in flight."""

    def end(self, thing: Thing, now: datetime) -> tuple[datetime, RunStatus]:
        long = self.random.random() < self.slow
        ticks = self.random.uniform(1.0, 3.0) if long else self.random.uniform(0.01, 0.5)
        self.places += ceil(ticks)
        fails = self.poison.get(thing.id) == thing.phase or self.random.random() < self.failing
        return now + TICK * ticks, RunStatus.FAILED if fails else RunStatus.SUCCESS


def pass_a_month(rotating: Rotating, luck: Luck, ticks: int = MONTH) -> Month:
    month, last = Month(), dict.fromkeys(rotating.things, 0)
    for number in range(ticks):
        ticked = rotating.tick(BEGIN + number * TICK)
        month.ticked.append(ticked)
        month.in_flight = max(month.in_flight, rotating.in_flight)
        for thing_id, phase in ticked.picks:
            if luck.poison.get(thing_id) == phase:
                month.poisoned.setdefault(thing_id, []).append(number)
            if thing_id not in luck.poison:
                month.waited = max(month.waited, number - last[thing_id])
            last[thing_id] = number
    waiting = [number for thing_id, number in last.items() if thing_id not in luck.poison]
    month.waited = max(month.waited, ticks - min(waiting))
    going_on = [
        Cycle(each.id, each.stale_since, BEGIN + ticks * TICK, each.failed) for each in rotating.things.values()
    ]
    month.cycles = [cycle for cycle in rotating.cycles + going_on if cycle.id not in luck.poison]
    assert month.in_flight <= rotating.max_in_flight
    return month


@pytest.mark.parametrize("failing", [0.0, 0.1], ids=["nothing fails", "a tenth fails"])
@pytest.mark.parametrize(("budget", "phases"), [(30, 1), (60, 3)])
def test_nobody_is_staler_than_the_budget_and_its_own_failures_make_it(
    budget: int, phases: int, failing: float
) -> None:
    """Always owed: a budget's worth of picks at every tick, and no healthy member is left out of a round."""
    poison = {number * 400 + 1: phases - 1 for number in range(25)}
    luck = Luck(seed=budget, failing=failing, poison=poison)
    things = [Thing(id=number, phases=phases) for number in range(1, MEMBERS + 1)]
    month = pass_a_month(Rotating(things, budget=budget, max_in_flight=3 * budget, end=luck.end), luck)
    assert sum(len(ticked.picks) for ticked in month.ticked) == budget * MONTH, "no tick was left unused"
    bound = MEMBERS * phases / budget
    assert 0.9 * bound <= month.waited <= 1.1 * bound
    assert 0.9 * bound <= month.worst(rounds=1) <= 1.1 * bound + most_waits(month)
    for cycle in month.cycles:
        assert staleness(cycle) <= 1.1 * rounds_of(cycle) * bound + waits_of(cycle)
    if failing:
        assert month.worst(rounds=2) >= 0.9 * 2 * bound, "a failure costs as much as that"
    else:
        assert all(not cycle.failed for cycle in month.cycles)
    assert all(is_finishing_first(ticked) for ticked in month.ticked)
    assert all(costs_its_share(month.poisoned[thing_id]) for thing_id in poison)


def test_the_bound_is_exact_where_every_attempt_succeeds_within_its_tick() -> None:
    luck = Luck(seed=1, failing=0.0, poison={}, slow=0.0)
    things = [Thing(id=number, phases=number % 3 + 1) for number in range(1, 1_001)]
    month = pass_a_month(Rotating(things, budget=10, end=luck.end), luck)
    bound = sum(thing.phases for thing in things) / 10
    assert month.waited <= bound + 1
    assert month.worst(rounds=1) <= bound + 3, "its phases, one tick each"


def test_an_attempt_that_is_slow_holds_its_place_and_lengthens_the_round_by_that() -> None:
    """As many in flight as the budget, which is the default: every place is filled at the tick after it was left."""
    luck = Luck(seed=6, failing=0.05, poison={}, slow=0.5)
    things = [Thing(id=number, phases=number % 2 + 1) for number in range(1, 601)]
    month = pass_a_month(Rotating(things, budget=4, end=luck.end), luck)
    assert month.in_flight == 4
    assert sum(ticked.what == "full" for ticked in month.ticked) > 10
    picks = sum(len(ticked.picks) for ticked in month.ticked)
    held = luck.places / picks
    assert 1.6 < held < 1.9, "half of them hold it for two or three ticks"
    assert abs(picks - 4 * MONTH / held) <= 3 * 4, "no place was left empty"
    bound = sum(thing.phases for thing in things) * held / 4
    assert 0.9 * bound <= month.worst(rounds=1) <= 1.1 * bound + most_waits(month)
    for cycle in month.cycles:
        assert staleness(cycle) <= 1.1 * rounds_of(cycle) * bound + waits_of(cycle)


def test_where_the_budget_is_not_used_up_a_failure_costs_the_ticks_it_waits() -> None:
    """And what an idle rotation sleeps through: three ticks at most, each time that somebody has become due."""
    luck = Luck(seed=7, failing=0.2, poison={}, slow=0.0)
    things = [Thing(id=number) for number in range(1, 101)]
    month = pass_a_month(Rotating(things, budget=50, fresh_for=timedelta(days=1), end=luck.end), luck)
    assert max(len(cycle.failed) for cycle in month.cycles) >= 4
    for cycle in month.cycles:
        waits = sum(min(MOST_WAIT_TICKS, 2**in_a_row) for _, in_a_row in cycle.failed)
        assert staleness(cycle) <= 48 + waits + 5 * rounds_of(cycle)


def test_a_poisonous_member_costs_a_sixteenth_of_the_ticks_and_never_two_in_a_row() -> None:
    """With a budget of one, in the phase that goes before all others: the most that one can take."""
    luck = Luck(seed=2, failing=0.0, poison={1: 2}, slow=0.0)
    things = [Thing(id=number, phases=3) for number in range(1, 101)]
    month = pass_a_month(Rotating(things, budget=1, end=luck.end), luck)
    taken = month.poisoned[1]
    assert len(taken) <= MONTH / MOST_WAIT_TICKS + 4, "the first failures wait for less"
    assert costs_its_share(taken)
    assert month.waited <= 300 * 16 / 15 + 4


def test_many_poisonous_members_take_no_more_than_their_turns() -> None:
    """A tenth of all, in the phase that goes before all others: they stand in line with those that begin."""
    poison = dict.fromkeys(range(1, 201, 10), 2)
    luck = Luck(seed=5, failing=0.0, poison=poison, slow=0.0)
    things = [Thing(id=number, phases=3) for number in range(1, 201)]
    month = pass_a_month(Rotating(things, budget=1, end=luck.end), luck)
    assert month.waited <= 1.1 * (200 * 3 + 20 * 3)
    month = pass_a_month(
        Rotating([Thing(id=number, phases=3) for number in range(1, 201)], budget=2, end=luck.end), luck
    )
    assert month.waited <= 1.1 * (200 * 3 + 20 * 3) / 2


def test_the_deep_are_tried_more_often_and_the_shallow_all_the_same() -> None:
    """In proportion to what depth makes of their staleness: three levels below count double."""
    luck = Luck(seed=3, failing=0.0, poison={}, slow=0.0)
    things = [Thing(id=number, depth=3 * (number % 2)) for number in range(1, 1_001)]
    month = pass_a_month(Rotating(things, budget=20, end=luck.end), luck)
    tried = [0, 0]
    for ticked in month.ticked[200:]:
        for thing_id, _ in ticked.picks:
            tried[thing_id % 2] += 1
    assert 1.8 < tried[1] / tried[0] < 2.2
    assert month.waited <= 1.2 * (500 * 1 + 500 * 2) / 20


def test_what_is_fresh_is_left_alone_and_an_idle_rotation_looks_at_every_fourth_tick() -> None:
    """A day's freshness: all are tried within an hour, then nobody is owed; the first success of a day wakes it up."""
    luck = Luck(seed=4, failing=0.0, poison={}, slow=0.0)
    things = [Thing(id=number) for number in range(1, 101)]
    month = pass_a_month(Rotating(things, budget=50, fresh_for=timedelta(days=1), end=luck.end), luck, ticks=110)
    what = ["x" if ticked.picks else "." for ticked in month.ticked]
    # It looks at 2, 4, 8, 12, …: those that are owed soon after 48 are picked at 52 and 53, and so on.
    assert "".join(what) == "xx" + "." * 50 + "xx" + "." * 50 + "xx" + "." * 4


def is_finishing_first(ticked: Ticked) -> bool:
    """Nobody further in its cycle than the last one that was picked was left owed."""
    return ticked.left_phase <= ticked.last or not ticked.picks


def costs_its_share(picks: list[int]) -> bool:
    """Two ticks apart at least, and sixteen after the fourth failure."""
    apart = [later - earlier for earlier, later in pairwise(picks)]
    return all(ticks >= 2 for ticks in apart) and all(ticks >= MOST_WAIT_TICKS for ticks in apart[3:])


def staleness(cycle: Cycle) -> float:
    """In ticks, when it was done, or the month was over."""
    return (cycle.until - (cycle.since or BEGIN)) / TICK


def rounds_of(cycle: Cycle) -> int:
    """How often it went to the end of the line: at its begin, and after each failure that is not tried again first."""
    return 1 + sum(phase == 0 or in_a_row >= CHRONIC_FAILURES for phase, in_a_row in cycle.failed)


def waits_of(cycle: Cycle) -> int:
    """The ticks it waited in the middle of its cycle."""
    return sum(2**in_a_row for phase, in_a_row in cycle.failed if phase and in_a_row < CHRONIC_FAILURES)


def most_waits(month: Month) -> int:
    return max(waits_of(cycle) for cycle in month.cycles)
