"""The page of a rotation, and who sees what."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.models import RotationMember, RotationSample, Routine
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import a_rotation_at_work, make_member, make_rotation
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import rotation_url, text_of

LIST = "admin:routines_rotation_changelist"
HOUR = timedelta(hours=1)
RUN_LINK = re.compile(r"/routinerun/[0-9a-f-]{36}/")


def test_the_page_tells_what_comes_next_and_why(operator: Client) -> None:
    """Later phases first, with the sentence that says so."""
    rotation = a_rotation_at_work()
    page = operator.get(rotation_url(rotation))
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
    page = text_of(operator, rotation_url(rotation))
    assert "ValueError" in page
    assert "abcdefgh12345678" not in page


@pytest.mark.parametrize(
    ("multiplier", "left", "says"),
    [(1, 0, "every tick looks"), (4, 2, "of 4 ticks one looks, the next look comes after 2 more"), (2, 0, "the next")],
)
def test_the_page_tells_what_the_idle_multiplier_means(operator: Client, multiplier: int, left: int, says: str) -> None:
    """A number alone says nothing."""
    rotation = make_rotation(idle_multiplier=multiplier, skip_ticks=left)
    assert says in text_of(operator, rotation_url(rotation))


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
    chart = operator.get(rotation_url(rotation)).context["staleness"]
    assert "stalest: between 1h and 2h, 1h at last" in chart
    assert "3 moments" in chart
    assert "4 moments" in operator.get(rotation_url(rotation, "?window=7d")).context["staleness"]


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
    live, shown = reverse("admin:routines_rotation_live", args=[rotation.pk]), operator.get(rotation_url(rotation))
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
    page = viewer.get(rotation_url(rotation))
    assert (page.status_code, page.context["verbs"], page.context["member_verbs"]) == (200, {}, [])
    assert 'name="members"' not in page.content.decode()
    assert "/do/" not in page.content.decode()
    assert viewer.get(reverse(LIST)).status_code == 200
    change = reverse("admin:routines_rotation_change", args=[rotation.pk])
    assert viewer.get(change)["Location"] == rotation_url(rotation)
    assert login(name="nobody").get(rotation_url(rotation)).status_code == 403


def test_runs_are_told_to_those_who_may_look_at_runs(login: Any) -> None:
    """Others see the members and where they stand: no run, no outcome, and not what a seeding said."""
    rotation = a_rotation_at_work()
    live = reverse("admin:routines_rotation_live", args=[rotation.pk])
    for address in (rotation_url(rotation), live):
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
    page = operator.get(rotation_url(rotation, "?status=owed&q=m&after=1-1"))
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
