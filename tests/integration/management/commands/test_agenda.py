"""`manage.py routines agenda`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import CommandError

from routines_app import service
from routines_app.models import Routine
from tests.browser.scenes import ended
from tests.integration.conftest import Time
from tests.integration.management.commands.test_routines import routines

Make = Callable[..., Routine]


def test_it_prints_fires_load_and_pools(make: Make, time: Time) -> None:
    """The first fires, the busiest minute, and from when on a pool would be too small."""
    service.create_pool("db", max_concurrent=1)
    for name in ("orders", "stock"):
        ended(make(name, cron="30 * * * *", pool="db", tags=["shop"]), time.now - timedelta(hours=1), 60)
    make("report", cron="15 * * * *")
    said = routines("agenda", "--limit", "2").splitlines()
    assert said[0].split() == ["SLOT", "NAME", "WHY"]
    assert ["report" in said[1], "orders" in said[2]] == [True, True]
    assert said[3] == "there is more: give a higher --limit"
    assert "3 fires until 2026-03-02 11:00:30+00:00" in said
    assert "the busiest 1m: 2 from 2026-03-02 10:30:00+00:00 on" in said
    assert said[-1].split() == ["db", "1", "2", "0", "2", "2026-03-02", "10:30:00+00:00"]


def test_it_is_read_by_programs(make: Make) -> None:
    """All of it, of those that were chosen."""
    make("report", cron="15 * * * *", tags=["reports"])
    make("other", cron="15 * * * *")
    found = json.loads(routines("agenda", "--tag", "reports", "--horizon", "2h", "--json"))
    assert [fire["name"] for fire in found["fires"]] == ["report"] * 2
    assert sum(load["fires"] for load in found["load"]) == 2


def test_a_horizon_of_a_week_is_refused(make: Make) -> None:
    """With what would be right."""
    with pytest.raises(CommandError, match="horizon"):
        routines("agenda", "--horizon", "7d")
