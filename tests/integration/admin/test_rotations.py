"""Rotations: the list, the page, its table of members, and who sees what."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from routines_app import service
from routines_app.models import Rotation, RotationMember, RotationSample, Routine
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import a_rotation_at_work, fill_rotation, make_member, make_rotation
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import text_of

LIST = "admin:routines_rotation_changelist"
HOUR = timedelta(hours=1)
RUN_LINK = re.compile(r"/routinerun/[0-9a-f-]{36}/")


def page_url(rotation: Rotation, query: str = "") -> str:
    return reverse("admin:routines_rotation_overview", args=[rotation.pk]) + query


def members_shown(client: Client, rotation: Rotation, query: str = "") -> list[str]:
    return [row.routine.name for row in client.get(page_url(rotation, query)).context["table"].rows]


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


def test_the_page_tells_what_comes_next_and_why(operator: Client) -> None:
    """Later phases first, with the sentence that says so."""
    rotation = a_rotation_at_work()
    page = operator.get(page_url(rotation))
    first = page.context["next_picks"][0].pick
    assert (first.phase, first.phase_number) == ("check", 2)
    assert first.why in page.content.decode()
    assert {one.pick.name for one in page.context["under_way"]} == {"shop-mainz", "shop-norden"}
    assert all(one.pick.run_id for one in page.context["under_way"])


def test_the_page_shows_why_the_last_seeding_failed(operator: Client) -> None:
    """Masked like every error."""
    rotation = make_rotation(seed="shop.feeds.shops")
    error = "ValueError: token=abcdefgh12345678 is refused"
    ended(rotation.routine, clock.now(), 1, "FAILED", phase="seed", rotation=rotation, error=error)
    page = text_of(operator, page_url(rotation))
    assert "ValueError" in page
    assert "abcdefgh12345678" not in page


@pytest.mark.parametrize(
    ("multiplier", "left", "says"),
    [(1, 0, "every tick looks"), (4, 2, "of 4 ticks one looks, the next look comes after 2 more"), (2, 0, "the next")],
)
def test_the_page_tells_what_the_idle_multiplier_means(operator: Client, multiplier: int, left: int, says: str) -> None:
    """A number alone says nothing."""
    rotation = make_rotation(idle_multiplier=multiplier, skip_ticks=left)
    assert says in text_of(operator, page_url(rotation))


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
    table = operator.get(page_url(rotation, f"?status={standing}")).context["table"]
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
    page = operator.get(page_url(rotation), {"q": "a " * 9})
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
        table = operator.get(page_url(rotation, query)).context["table"]
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
        asked = [statements_of(operator, page_url(rotation, query)) for rotation in (few, many)]
        assert asked[0] == asked[1], query
    assert len(members_shown(operator, many)) == 50


def test_a_member_shows_its_own_phases(operator: Client) -> None:
    """Its own instead of the rotation's; without any, a single one."""
    rotation = make_rotation()
    own = [{"name": "fetch", "task": "t"}, {"name": "store", "task": "t"}]
    make_member(rotation, "own", routine={"phases": own}, phase=1, status="FAILED", retry_tick=99)
    make_member(make_rotation("plain", phases=[]), "single")
    row = operator.get(page_url(rotation)).context["table"].rows[0]
    assert row.phase == "store, 2 of 2"
    assert "fetch: done, store: failed" in row.strip
    page = operator.get(page_url(Rotation.objects.get(routine__name="plain"))).context["table"].rows[0]
    assert (page.phase, "next" in page.strip) == ("", True)


def test_phases_that_nobody_can_read_break_no_page(operator: Client) -> None:
    """Plain SQL can put anything there."""
    rotation = make_rotation(phases={"name": "x"})
    make_member(rotation, "m", routine={"phases": ["x", 1]}, phase=7)
    assert operator.get(page_url(rotation)).status_code == 200


def test_the_staleness_is_drawn_from_the_samples(operator: Client) -> None:
    """Both lines, with the worst of what falls together; those of other windows are not drawn."""
    rotation, now = make_rotation(), clock.now()
    for minutes, stalest in ((30, 7200.0), (20, None), (10, 3600.0), (60 * 30, 90_000.0)):
        sample = {"owed": 1, "in_flight": 0, "fresh": 0, "failing": 0, "left_out": 0}
        at = now - timedelta(minutes=minutes)
        median = None if stalest is None else 60.0
        RotationSample.objects.create(
            rotation=rotation, at=at, stalest_seconds=stalest, median_seconds=median, **sample
        )
    chart = operator.get(page_url(rotation)).context["staleness"]
    assert "stalest: between 1h and 2h, 1h at last" in chart
    assert "3 moments" in chart
    assert "4 moments" in operator.get(page_url(rotation, "?window=7d")).context["staleness"]


def test_the_fragment_is_what_moves_and_says_the_status(operator: Client) -> None:
    """Without the members' table: who chooses there is not interrupted."""
    rotation = a_rotation_at_work()
    response = operator.get(reverse("admin:routines_rotation_live", args=[rotation.pk]))
    assert response["X-Routines-Status"] == "ACTIVE"
    assert "Next picks" in response.content.decode()
    assert "data-members" not in response.content.decode()


def test_very_many_members_are_not_counted_for_every_viewer(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page counts; the fragments after it take what it has found, for some seconds."""
    monkeypatch.setattr("routines_app.verbs.rotations.counting.MANY", 3)
    rotation = a_rotation_at_work()
    live, shown = reverse("admin:routines_rotation_live", args=[rotation.pk]), operator.get(page_url(rotation))
    first, *others = shown.context["status"].next_picks
    for asked in ("counts_of", "ranked"):
        monkeypatch.setattr(f"routines_app.verbs.rotations.counting.{asked}", pytest.fail)
    RotationMember.objects.filter(pk=first.routine_id).update(status="IN_FLIGHT", run=UUID(int=1))
    status = operator.get(live).context["status"]
    assert (status.owed, [pick.name for pick in status.next_picks]) == (8, [pick.name for pick in others])


def test_a_rotation_that_is_not_there_is_said(operator: Client) -> None:
    """Also by the id of a routine that is none."""
    routine = make_routine()
    for page in ("overview", "live", "members"):
        assert operator.get(reverse(f"admin:routines_rotation_{page}", args=[routine.pk])).status_code == 404


def test_a_viewer_sees_a_rotation_and_finds_no_button(login: Any) -> None:
    """View is enough to look, and gives nothing to press."""
    rotation = a_rotation_at_work()
    viewer = login("view_rotation")
    page = viewer.get(page_url(rotation))
    assert (page.status_code, page.context["verbs"], page.context["member_verbs"]) == (200, {}, [])
    assert 'name="members"' not in page.content.decode()
    assert "/do/" not in page.content.decode()
    assert viewer.get(reverse(LIST)).status_code == 200
    change = reverse("admin:routines_rotation_change", args=[rotation.pk])
    assert viewer.get(change)["Location"] == page_url(rotation)
    assert login(name="nobody").get(page_url(rotation)).status_code == 403


def test_runs_are_told_to_those_who_may_look_at_runs(login: Any) -> None:
    """Others see the members and where they stand: no run, no outcome, and not what a seeding said."""
    rotation = a_rotation_at_work()
    live = reverse("admin:routines_rotation_live", args=[rotation.pk])
    for address in (page_url(rotation), live):
        page = login("view_rotation", name=f"a{address}").get(address).content.decode()
        assert "shop-mainz" in page
        assert RUN_LINK.search(page) is None
        assert "did not answer" not in page
        assert "<h2>Last seeding</h2>" not in page
        assert "Last run" not in page
        page = login("view_rotation", "view_routinerun", name=f"b{address}").get(address).content.decode()
        assert "did not answer" in page
        assert RUN_LINK.search(page)


def test_the_window_of_the_chart_keeps_what_is_chosen(operator: Client) -> None:
    """And an empty chart says when there will be something."""
    rotation = make_rotation()
    page = operator.get(page_url(rotation, "?status=owed&q=m&after=1-1"))
    assert dict(page.context["windows"])["7d"] == "?status=owed&q=m&window=7d"
    assert "the first samples come within ten minutes" in page.content.decode()


def test_a_member_is_touched_on_its_page_by_those_who_may(login: Any) -> None:
    """The page that does it shows the rotation."""
    member = make_member(make_rotation(), "m")
    address = reverse("admin:routines_routine_overview", args=[member.pk])
    permissions = ["view_routine", "run_routine"]
    assert 'value="touch"' not in login(*permissions, name="a").get(address).content.decode()
    assert 'value="touch"' in login(*permissions, "view_rotation", name="b").get(address).content.decode()


def test_who_is_chosen_in_the_routine_form_is_found_by_name(operator: Client) -> None:
    """The form's own search for a rotation."""
    make_rotation("shops")
    asked = {"app_label": "routines", "model_name": "routine", "field_name": "rotation", "term": "sho"}
    found = operator.get(reverse("admin:autocomplete"), asked).json()["results"]
    assert [each["text"] for each in found] == ["shops"]
    assert not RotationMember.objects.exists()
    assert Routine.objects.count() == 1
