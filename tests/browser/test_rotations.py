"""A rotation's page in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.models import Rotation, RotationMember, Routine
from tests.browser.every_page import LOOKS
from tests.browser.rotation_scene import a_rotation_at_work, a_tick, make_member, make_rotation

Open = Callable[..., Page]
MakeUser = Callable[..., User]
PHONE = {"width": 390, "height": 844}


def overview(rotation: Rotation) -> str:
    return reverse("admin:routines_rotation_overview", args=[rotation.pk])


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_of_a_rotation_can_be_looked_at(
    open_page: Open, make_user: MakeUser, picture: Callable[[Page, str], Path], look: str
) -> None:
    """Each renders with real-looking data, without an error, in both themes and on a telephone."""
    rotation = a_rotation_at_work()
    member = RotationMember.objects.filter(status="IN_FLIGHT").first()
    assert member is not None
    pages = {
        "rotations": reverse("admin:routines_rotation_changelist"),
        "rotation": overview(rotation),
        "rotation-form": reverse("admin:routines_rotation_change", args=[rotation.pk]),
        "rotation-archive": reverse("admin:routines_rotation_verb", args=[rotation.pk, "archive"]),
        "rotation-routine": reverse("admin:routines_routine_overview", args=[rotation.pk]),
        "member": reverse("admin:routines_routine_overview", args=[member.pk]),
        "members-in-list": reverse("admin:routines_routine_changelist"),
        "rotation-runs": reverse("admin:routines_routinerun_changelist"),
        "member-run": reverse("admin:routines_routinerun_change", args=[member.run]),
        "tick": reverse("admin:routines_routinerun_change", args=[a_tick(rotation).pk]),
    }
    page = open_page(make_user(), pages["rotations"], dark=look == "dark")
    if look == "phone":
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name, address in pages.items():
        response = page.goto(address)
        assert response is not None
        assert response.ok, name
        picture(page, f"{name}-{look}")


def test_members_are_chosen_and_paused(open_page: Open, make_user: MakeUser) -> None:
    """All on the page by one box, with a reason that the page asks for."""
    rotation = make_rotation()
    for number in range(3):
        make_member(rotation, f"m-{number}")
    page = open_page(make_user(), overview(rotation))
    page.get_by_label("All on this page").check()
    expect(page.get_by_text("With the 3 chosen:")).to_be_visible()
    page.get_by_label("Choose m-1").uncheck()
    page.get_by_role("button", name="Pause …").click()
    page.get_by_label("Why").fill("stocktaking")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Paused 2 members.")
    assert set(Routine.objects.filter(status="PAUSED").values_list("name", flat=True)) == {"m-0", "m-2"}


def test_a_tick_by_hand_moves_the_page(open_page: Open, make_user: MakeUser) -> None:
    """Whom it picked is under way, and its strip has the tick."""
    rotation = make_rotation()
    make_member(rotation, "m-1")
    page = open_page(make_user(), overview(rotation))
    expect(page.get_by_role("region", name="Next picks")).to_contain_text("m-1")
    page.get_by_role("button", name="Tick now").click()
    expect(page.locator(".messagelist")).to_contain_text("1 member picked")
    expect(page.get_by_role("region", name="Under way")).to_contain_text("m-1")
    expect(page.locator(".rt-ticks .rt-tick-picked")).to_have_count(1)


def test_the_page_follows_while_it_is_looked_at(open_page: Open, make_user: MakeUser) -> None:
    """What is owed is told anew, and the boxes that were checked stay so."""
    rotation = make_rotation()
    member = make_member(rotation, "m-1")
    page = open_page(make_user(), overview(rotation))
    page.get_by_label("Choose m-1").check()
    page.locator("h1").click()
    RotationMember.objects.filter(pk=member.pk).update(phase=2)
    expect(page.get_by_role("region", name="Next picks")).to_contain_text("check")
    expect(page.get_by_label("Choose m-1")).to_be_checked()
