"""The frozen clock: it stands, it moves forward, and afterwards everything is as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import TestCase, TransactionTestCase

from routines_app import service
from routines_app.coordination import monitors, own_keys, wakeups
from routines_app.coordination.broker import Broker, BrokerAway, broker
from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.execution.body import Body
from routines_app.models import ledger_time
from routines_app.protocol.end import finish
from routines_app.protocol.ledger import clock as ledger_clock
from routines_app.protocol.publish import outbox
from routines_app.protocol.run import begin
from routines_app.testing import frozen_clock, run_due
from routines_app.verbs import run_now
from tests.integration.testing import tasks

THREE = datetime(2026, 3, 2, 3, tzinfo=UTC)


def everything() -> list[Any]:
    """All that a clock replaces."""
    return [
        *(ledger_clock._clock, outbox.send, Broker._connected, monitors.wanted, wakeups.asking, own_keys.asking),
        *(begin.is_postgresql, finish.is_postgresql, run_now.has_broker, Body._call),
    ]


def test_it_stands_until_it_is_moved() -> None:
    with frozen_clock(THREE) as clock:
        assert service.now() == ledger_time.now() == clock.now() == THREE
        assert clock.move(hours=1, minutes=30) == THREE + timedelta(minutes=90)
        assert service.now() == THREE + timedelta(minutes=90)
        clock.move_to("2026-03-02T06:00:00+01:00")
        assert service.now() == THREE + timedelta(hours=2)


def test_it_tells_utc_whatever_it_was_given() -> None:
    with frozen_clock(datetime(2026, 3, 2, 4, tzinfo=ZoneInfo("Europe/Paris"))) as clock:
        assert (clock.now(), clock.now().tzinfo) == (THREE, UTC)
        clock.move_to(datetime(2026, 3, 2, 8, tzinfo=timezone(timedelta(hours=4))))
        assert (service.now(), service.now().tzinfo) == (THREE + timedelta(hours=1), UTC)


def test_without_a_moment_it_stands_at_the_present() -> None:
    before = datetime.now(UTC)
    with frozen_clock() as clock:
        assert before <= clock.now() == service.now() <= datetime.now(UTC)


def test_afterwards_everything_is_as_it_was() -> None:
    before = everything()
    with frozen_clock(THREE):
        assert not any(now is then for now, then in zip(everything(), before, strict=True))
    assert everything() == before


def test_also_after_an_error() -> None:
    before = everything()
    with pytest.raises(ZeroDivisionError), frozen_clock(THREE):
        _ = 1 / 0
    assert everything() == before


def test_the_inner_one_counts() -> None:
    before = everything()
    with frozen_clock(THREE) as outer:
        with frozen_clock("2020-01-01T00:00:00Z"):
            assert service.now().year == 2020
            outer.move(hours=1)
            assert service.now().year == 2020
        assert service.now() == THREE + timedelta(hours=1)
        with pytest.raises(NotAllowed, match="it stands already"), outer:
            pass
        assert service.now() == THREE + timedelta(hours=1)
    assert everything() == before


def test_it_can_be_used_again() -> None:
    clock = frozen_clock(THREE)
    for _ in range(2):
        with clock:
            assert service.now() == THREE


@pytest.mark.parametrize("given", [datetime(2026, 3, 2), "2026-03-02T03:00:00", "tomorrow", 3, "2026-03-02"])
def test_a_moment_without_an_offset_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^at: .* give a moment with its offset"):
        frozen_clock(given)
    with frozen_clock(THREE) as clock:
        with pytest.raises(InvalidValue, match=r"^then: .* give a moment with its offset"):
            clock.move_to(given)
        with pytest.raises(InvalidValue, match=r"^now: .* give a moment with its offset"):
            run_due(given)
        assert clock.now() == THREE


def test_it_only_goes_forward() -> None:
    with frozen_clock(THREE) as clock:
        with pytest.raises(NotAllowed, match="only goes forward"):
            clock.move(minutes=-1)
        with pytest.raises(NotAllowed, match="it is 2026-03-02T03:00:00"):
            clock.move_to("2026-03-02T02:59:00Z")
        with pytest.raises(InvalidValue, match="days, hours, minutes, seconds"):
            clock.move(months=1)
        assert clock.now() == THREE


@pytest.mark.parametrize("days", [1e12, 9e6, -9e6, float("nan"), float("inf")])
def test_a_length_that_leads_nowhere_is_refused(days: float) -> None:
    with frozen_clock(THREE) as clock:
        with pytest.raises(InvalidValue, match=r"^length: .* give one that ends in the years 1 to 9999"):
            clock.move(days=days)
        assert clock.now() == THREE


@pytest.mark.parametrize("at", ["9999-12-31T23:00:00-05:00", "0001-01-01T00:00:00+05:00"])
def test_a_moment_that_utc_does_not_have_is_refused(at: str) -> None:
    with pytest.raises(InvalidValue, match=r"^at: .* years 1 to 9999"):
        frozen_clock(at)


def test_no_part_of_the_broker_is_reached() -> None:
    with frozen_clock(THREE), pytest.raises(BrokerAway, match="frozen clock"):
        broker().connect()


class Told:
    """What both kinds of Django's test cases see."""

    def setUp(self) -> None:
        self.clock = self.enterContext(frozen_clock("2026-03-02T02:59:00Z"))  # type: ignore[attr-defined]
        service.create_routine("nightly", task=f"{tasks.__name__}.say", cron="0 3 * * *", timezone="UTC")

    def test_a_night(self) -> None:
        self.clock.move(minutes=1)
        assert [run.started_at for run in run_due()] == [THREE]

    def test_another_night(self) -> None:
        """Nothing of the first is left."""
        assert run_due() == []
        self.clock.move(minutes=1)
        assert len(run_due()) == 1


class InOneTransaction(Told, TestCase):
    pass


class WithRealCommits(Told, TransactionTestCase):
    pass
