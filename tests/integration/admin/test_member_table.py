"""The members of a rotation on its page: filtered, searched, paged, with their phases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from routines_app import service
from routines_app.models import Rotation
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import a_rotation_at_work, fill_rotation, make_member, make_rotation
from tests.integration.admin.pages import rotation_url

HOUR = timedelta(hours=1)


def members_shown(client: Client, rotation: Rotation, query: str = "") -> list[str]:
    return [row.routine.name for row in client.get(rotation_url(rotation, query)).context["table"].rows]


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ("in-flight", {"shop-mainz", "shop-norden"}),
        ("fresh", {"shop-ilmenau", "shop-jena"}),
        ("failing", {"shop-kassel"}),
        ("left-out", {"shop-leipzig"}),
    ],
)
def test_members_are_filtered_by_where_they_stand(operator: Client, standing: str, expected: set[str]) -> None:
    """And each line says the same as the filter."""
    rotation = a_rotation_at_work()
    table = operator.get(rotation_url(rotation, f"?status={standing}")).context["table"]
    assert {row.routine.name for row in table.rows} == expected
    assert {row.standing for row in table.rows} == {standing}


def test_who_a_tick_would_make_owed_is_owed(operator: Client) -> None:
    """Freshness that is over, a wait that is over, and who was left out and is active again."""
    rotation, now = make_rotation(ticks=10), clock.now()
    make_member(rotation, "over", status="FRESH", due_at=now - HOUR)
    make_member(rotation, "waited", status="FAILED", retry_tick=11, failures=1)
    make_member(rotation, "back", status="LEFT_OUT")
    make_member(rotation, "waiting", status="FAILED", retry_tick=12, failures=1)
    assert set(members_shown(operator, rotation, "?status=owed")) == {"over", "waited", "back"}
    assert members_shown(operator, rotation, "?status=failing") == ["waiting"]
    assert service.rotation_status(rotation).owed == 3


def test_members_are_searched_by_name(operator: Client) -> None:
    """Every word is a part of it; what is too much, or no text, is said and finds nothing."""
    rotation = a_rotation_at_work()
    assert members_shown(operator, rotation, "?q=emden") == ["shop-emden"]
    assert members_shown(operator, rotation, "?q=en+shop+br") == ["shop-bremen"]
    assert members_shown(operator, rotation, "?q=%00") == []
    page = operator.get(rotation_url(rotation), {"q": "a " * 9})
    assert page.context["table"].rows == []
    assert "at most 100 characters and 8 words" in page.content.decode()


def test_members_are_paged_without_missing_or_repeating_any(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that became members at the same moment; what is chosen stays chosen."""
    monkeypatch.setattr("routines_app.admin.member_table.PER_PAGE", 3)
    rotation, now = make_rotation(), clock.now()
    for number in range(8):
        make_member(rotation, f"m-{number}", stale_since=now - HOUR * (number // 4))
    make_member(rotation, "fresh", status="FRESH", due_at=now + HOUR)
    seen: list[str] = []
    query = "?status=owed&q=m-"
    while query:
        table = operator.get(rotation_url(rotation, query)).context["table"]
        seen += [row.routine.name for row in table.rows]
        query = table.next_url.partition("#")[0]
        assert len(table.rows) <= 3
    assert seen == [f"m-{number}" for number in (4, 5, 6, 7, 0, 1, 2, 3)]


@pytest.mark.parametrize("query", ["after=x", "after=-", "after=9223372036854775807-1", "status=x", "window=1y"])
def test_what_no_page_sends_shows_the_first_page(operator: Client, query: str) -> None:
    """Addresses can be typed."""
    rotation = make_rotation()
    make_member(rotation, "m")
    assert members_shown(operator, rotation, f"?{query}") == ["m"]


def statements_of(operator: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert operator.get(url).status_code == 200
    return len(captured)


def test_a_page_of_very_many_members_asks_as_little_as_one_of_many(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever are asked for; and no plan joins all members with all, which would not come back at all."""
    monkeypatch.setattr("routines_app.protocol.rotate.picking.FEW", 40)
    few, many = make_rotation("few"), make_rotation("many")
    fill_rotation(few, 500)
    fill_rotation(many, 5_000)
    for query in ("", "?status=owed", "?status=fresh&q=0001", "?status=failing"):
        asked = [statements_of(operator, rotation_url(rotation, query)) for rotation in (few, many)]
        assert asked[0] == asked[1], query
    assert len(members_shown(operator, many)) == 50


def test_a_member_shows_its_own_phases(operator: Client) -> None:
    """Its own instead of the rotation's; without any, a single one."""
    rotation = make_rotation()
    own = [{"name": "fetch", "task": "t"}, {"name": "store", "task": "t"}]
    make_member(rotation, "own", routine={"phases": own}, phase=1, status="FAILED", retry_tick=99)
    make_member(make_rotation("plain", phases=[]), "single")
    row = operator.get(rotation_url(rotation)).context["table"].rows[0]
    assert row.phase == "store, 2 of 2"
    assert "fetch: done, store: failed" in row.strip
    page = operator.get(rotation_url(Rotation.objects.get(routine__name="plain"))).context["table"].rows[0]
    assert (page.phase, "next" in page.strip) == ("", True)


def test_phases_that_nobody_can_read_break_no_page(operator: Client) -> None:
    """Plain SQL can put anything there."""
    rotation = make_rotation(phases={"name": "x"})
    make_member(rotation, "m", routine={"phases": ["x", 1]}, phase=7)
    assert operator.get(rotation_url(rotation)).status_code == 200
