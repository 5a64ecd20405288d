"""The list of rotations in the admin."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from tests.browser.rotation_scene import a_rotation_at_work, make_rotation
from tests.integration.admin.pages import text_of

LIST = "admin:routines_rotation_changelist"


def test_the_list_tells_how_each_rotation_stands(operator: Client) -> None:
    """In the numbers of its members; one without members has none."""
    a_rotation_at_work()
    make_rotation("empty")
    rows = {row.name: row for row in operator.get(reverse(LIST)).context["cl"].result_list}
    counted = rows["shops"].counted
    assert [counted.members, counted.owed, counted.in_flight, counted.failing] == [14, 8, 2, 1]
    assert rows["empty"].counted.members == 0
    page = text_of(operator, reverse(LIST))
    assert '<td class="field-in_flight">2 of 3</td>' in page
    assert '<td class="field-stalest">1d 16h</td>' in page


def test_the_list_counts_as_the_status_does(operator: Client) -> None:
    """Two places count: they must not tell different numbers."""
    rotation = a_rotation_at_work()
    row = operator.get(reverse(LIST)).context["cl"].result_list[0]
    status = service.rotation_status(rotation)
    assert (row.counted.owed, row.counted.failing) == (status.owed, status.failing)
    assert (row.counted.members, row.counted.in_flight) == (status.members, status.in_flight)
    assert (status.at - row.counted.stale_since).total_seconds() == pytest.approx(status.stalest_seconds)


def test_the_list_is_filtered_by_the_status_of_the_rotation(operator: Client) -> None:
    """Which is its own routine's."""
    make_rotation("at-work")
    make_rotation("resting", routine={"status": "PAUSED"})
    shown = operator.get(reverse(LIST), {"status": "PAUSED"}).context["cl"].result_list
    assert [rotation.name for rotation in shown] == ["resting"]
