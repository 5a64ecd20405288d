"""Members, ticks and seedings on the pages of routines and runs."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.admin.verb_buttons import VERBS
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import a_rotation_at_work, a_tick, make_member, make_rotation
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import list_url, overview_url, rotation_url, run_url, text_of, told, verb_url

RUNS = "admin:routines_routinerun_changelist"


def test_a_member_shows_its_rotation_and_where_it_is(operator: Client) -> None:
    """On its page and in the list; hints are for others."""
    rotation = make_rotation()
    member = make_member(rotation, "m", phase=1)
    page = text_of(operator, overview_url(member.routine))
    assert rotation_url(rotation) in page
    assert "plan: done, build: next, check: to come" in page
    assert "when its rotation picks it" in page
    assert "No hint is in force" not in page
    listed = text_of(operator, list_url() + "?q=m")
    assert rotation_url(rotation) in listed
    assert "plan: done, build: next, check: to come" in listed


def test_a_rotations_own_routine_leads_to_its_page(operator: Client) -> None:
    """And offers nothing that makes no sense for ticks."""
    rotation = make_rotation()
    page = operator.get(overview_url(rotation.routine))
    text = page.content.decode()
    assert rotation_url(rotation) in text
    assert not {"backfill", "archive", "delete"} & page.context["verbs"].keys()
    assert "Tick now" in text
    assert "Run with" not in text
    assert reverse("admin:routines_routine_change", args=[rotation.pk]) not in text
    assert rotation_url(rotation) in text_of(operator, list_url())


@pytest.mark.parametrize("verb", ["backfill", "archive"])
def test_the_address_of_a_verb_that_is_not_for_ticks_leads_back(operator: Client, verb: str) -> None:
    """Addresses can be typed."""
    rotation = make_rotation()
    response = operator.post(verb_url(rotation.routine, verb), follow=True)
    assert told(response) == [f"{VERBS[verb].label} is not for a rotation's own routine: see the rotation's page."]
    assert Routine.objects.get().status == "ACTIVE"


def test_hints_are_not_offered_for_members(operator: Client) -> None:
    """The service would refuse them."""
    member = make_member(make_rotation(), "m")
    verbs = operator.get(overview_url(member.routine)).context["verbs"]
    assert not [slug for slug in verbs if slug.startswith("hint")]
    response = operator.post(verb_url(member.routine, "hint-time"), follow=True)
    assert told(response) == ["Hint a time is not for a rotation's member: its rotation says when it runs."]


def test_a_member_is_touched_from_its_own_page(operator: Client) -> None:
    """The button posts to the rotation, and is there for those who may."""
    rotation = make_rotation()
    member = make_member(rotation, "m")
    address = reverse("admin:routines_rotation_members", args=[rotation.pk])
    assert f'action="{address}"' in text_of(operator, overview_url(member.routine))


def test_a_members_run_leads_to_its_rotation_and_its_tick(operator: Client) -> None:
    """And says its phase."""
    rotation = a_rotation_at_work()
    tick = a_tick(rotation)
    run = RoutineRun.objects.get(tick=tick.pk)
    page = text_of(operator, run_url(run))
    assert f"Phase <strong>{run.phase}</strong>" in page
    assert rotation_url(rotation) in page
    assert run_url(tick) in page


def test_a_tick_leads_to_what_it_picked(operator: Client) -> None:
    """Its page has the runs of its members, and not the seeding beside it."""
    rotation = a_rotation_at_work()
    tick = a_tick(rotation)
    make_run(rotation.routine, at=clock.now(), phase="seed", rotation=rotation, tick=tick.pk)
    fired = operator.get(run_url(tick)).context["fired"]
    assert {run.pk for run in fired} == set(
        RoutineRun.objects.filter(tick=tick.pk).exclude(phase="seed").values_list("pk", flat=True)
    )
    assert not any(operator.get(run_url(tick)).context[may] for may in ("may_retry", "may_run"))


def test_a_seeding_says_that_it_is_one(operator: Client) -> None:
    """It is a run of the rotation's own routine, and no tick."""
    rotation = make_rotation()
    run = ended(rotation.routine, clock.now(), phase="seed", rotation=rotation)
    page = operator.get(run_url(run))
    assert not page.context["is_tick"]
    assert "Seeding of rotation" in " ".join(page.content.decode().split())


def test_the_list_of_runs_tells_rotation_and_phase(operator: Client) -> None:
    """Beside the trigger."""
    rotation = make_rotation()
    ended(make_member(rotation, "m").routine, clock.now(), phase="build", rotation=rotation, trigger="rotation")
    page = text_of(operator, reverse(RUNS))
    assert rotation_url(rotation) in page
    assert '<span class="rt-chip">build</span>' in page


def test_runs_of_a_rotation_that_is_gone_can_be_looked_at(operator: Client) -> None:
    """The ledger keeps them, without a foreign key."""
    rotation = make_rotation()
    run = ended(make_routine("m"), clock.now(), phase="build", rotation=rotation, trigger="rotation")
    Rotation.objects.all().delete()
    assert operator.get(run_url(run)).status_code == 200
    assert operator.get(reverse(RUNS)).status_code == 200
    assert not RotationMember.objects.exists()
