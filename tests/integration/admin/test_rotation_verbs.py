"""The buttons of a rotation and of its members."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.admin import rotation_verb_pages
from routines_app.admin.rotation_verbs import MEMBER_VERBS, ROTATION_VERBS
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import make_member, make_rotation
from tests.browser.scenes import TASK
from tests.integration.admin.pages import last_entry, rotation_url, told
from tests.integration.admin.test_rotations import HOUR
from tests.integration.conftest import Login

SEED = "tests.integration.admin.test_rotation_verbs.shops"


def verb_url(rotation: Rotation, verb: str) -> str:
    return reverse("admin:routines_rotation_verb", args=[rotation.pk, verb])


def press(client: Client, rotation: Rotation, verb: str, **typed: Any) -> Any:
    return client.post(verb_url(rotation, verb), typed, follow=True)


def choose(client: Client, rotation: Rotation, verb: str, *members: RotationMember, **typed: Any) -> Any:
    """Check the boxes of these members and press a button."""
    data = {"verb": verb, "members": [member.pk for member in members], **typed}
    return client.post(reverse("admin:routines_rotation_members", args=[rotation.pk]), data, follow=True)


def standing(member: RotationMember) -> str:
    return RotationMember.objects.values_list("status", flat=True).get(pk=member.pk)


@pytest.fixture
def rotation() -> Rotation:
    return make_rotation(budget=2, max_in_flight=2)


def test_a_tick_by_hand_says_what_it_came_to(operator: Client, rotation: Rotation) -> None:
    """Picked, then full, in the message and in the history; and an empty one is idle."""
    for number in range(3):
        make_member(rotation, f"m-{number}")
    assert told(press(operator, rotation, "tick")) == ["Ticked shops: 2 members picked."]
    assert last_entry().change_message == "Ticked shops: 2 members picked."
    tick = RoutineRun.objects.get(routine_id=rotation.pk)
    assert (tick.trigger, tick.requested_by) == ("manual", "root")
    assert "as many members are in flight as there may be" in told(press(operator, rotation, "tick"))[0]
    assert told(press(operator, make_rotation("empty"), "tick")) == ["Ticked empty: nothing is owed."]


def test_a_rotation_is_paused_and_resumed(operator: Client, rotation: Rotation) -> None:
    """With a reason, by whoever did it."""
    assert told(press(operator, rotation, "pause", reason="stocktaking")) == ["Paused shops until it is resumed."]
    routine = Routine.objects.get(pk=rotation.pk)
    assert (routine.status, routine.pause_reason) == ("PAUSED", "stocktaking")
    assert told(press(operator, rotation, "pause")) == ["Pause is not for a rotation as this one is: PAUSED."]
    assert told(press(operator, rotation, "resume")) == ["Resumed shops."]
    assert Routine.objects.get(pk=rotation.pk).status == "ACTIVE"


def test_a_time_that_is_no_time_stands_at_its_field(operator: Client, rotation: Rotation) -> None:
    """Nothing is done."""
    page = press(operator, rotation, "pause", until="tomorrow")
    assert (page.status_code, list(page.context["form"].errors)) == (422, ["until"])
    assert Routine.objects.get(pk=rotation.pk).status == "ACTIVE"


@pytest.mark.parametrize("with_members", [True, False])
def test_a_rotation_is_archived_with_or_without_its_members(
    operator: Client, rotation: Rotation, with_members: bool
) -> None:
    """As it was said; members that stay run by hand."""
    member = make_member(rotation, "m")
    press(operator, rotation, "archive", **({"members": "on"} if with_members else {}))
    assert Routine.objects.get(pk=rotation.pk).status == "ARCHIVED"
    assert Routine.objects.get(pk=member.pk).status == ("ARCHIVED" if with_members else "ACTIVE")


def test_an_archive_of_very_many_members_asks_to_go_on(
    operator: Client, rotation: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request takes long."""
    monkeypatch.setattr("routines_app.admin.rotation_acts.SECONDS", -1)
    make_member(rotation, "m")
    page = press(operator, rotation, "archive", members="on")
    assert "confirm to go on" in told(page)[0]
    assert page.context["form"]["members"].value() is True
    monkeypatch.undo()
    assert told(press(operator, rotation, "archive", members="on")) == ["Archived shops with its members."]


def test_members_are_touched_together(operator: Client, rotation: Rotation) -> None:
    """They are owed now; those that were not chosen are not."""
    fresh = [make_member(rotation, f"m-{n}", status="FRESH", due_at=clock.now() + HOUR) for n in range(3)]
    assert told(choose(operator, rotation, "touch", *fresh[:2])) == ["Touched 2 members: owed now."]
    assert [standing(member) for member in fresh] == ["OWED", "OWED", "FRESH"]
    assert last_entry().object_repr == "shops"


def test_members_are_paused_after_a_question_and_resumed_at_once(operator: Client, rotation: Rotation) -> None:
    """The page names them, and does nothing yet."""
    members = [make_member(rotation, f"m-{number}") for number in range(2)]
    asked = choose(operator, rotation, "pause", *members)
    assert asked.context["members"] == [member.routine for member in members]
    assert not Routine.objects.filter(status="PAUSED").exists()
    typed = {"confirmed": "1", "reason": "moves house", "members": asked.context["ids"]}
    address = reverse("admin:routines_rotation_members", args=[rotation.pk])
    done = operator.post(address, {"verb": "pause", **typed}, follow=True)
    assert told(done) == ["Paused 2 members."]
    assert set(Routine.objects.filter(status="PAUSED").values_list("pause_reason", flat=True)) == {"moves house"}
    assert told(choose(operator, rotation, "resume", members[0])) == ["Resumed m-0."]


def test_a_member_runs_its_next_phase_by_hand(operator: Client, rotation: Rotation) -> None:
    """In flight at once; asked for again while that waits, it is the same run."""
    member = make_member(rotation, "m", phase=1)
    assert told(choose(operator, rotation, "run", member)) == ["Asked for a run of m."]
    run = RoutineRun.objects.get(routine_id=member.pk)
    assert (run.phase, run.trigger, run.rotation_id) == ("build", "manual", rotation.pk)
    assert standing(member) == "IN_FLIGHT"
    choose(operator, rotation, "run", member)
    assert RoutineRun.objects.get(routine_id=member.pk) == run


def test_members_are_removed_after_a_question(operator: Client, rotation: Rotation) -> None:
    """They stay routines that run by hand."""
    member, other = make_member(rotation, "m"), make_member(rotation, "other")
    choose(operator, rotation, "remove", member)
    assert RotationMember.objects.count() == 2
    done = choose(operator, rotation, "remove", member, confirmed="1")
    assert told(done) == ["Removed 1 member from shops."]
    assert list(RotationMember.objects.values_list("pk", flat=True)) == [other.pk]
    assert Routine.objects.get(pk=member.pk).rotation_id is None


def test_who_is_no_member_is_not_touched_by_any_verb(operator: Client, rotation: Rotation) -> None:
    """Ids can be typed: another rotation's members are not this one's."""
    stranger = make_member(make_rotation("other"), "stranger")
    for verb in MEMBER_VERBS:
        assert told(choose(operator, rotation, verb, stranger, confirmed="1")) == ["Choose members in the table first."]
    assert told(choose(operator, rotation, "touch")) == ["Choose members in the table first."]
    assert (standing(stranger), Routine.objects.get(pk=stranger.pk).status) == ("OWED", "ACTIVE")


def test_a_choice_of_very_many_is_refused(operator: Client, rotation: Rotation) -> None:
    """That is a job for the command line."""
    ids = ",".join(str(number) for number in range(1, rotation_verb_pages.AT_ONCE + 2))
    address = reverse("admin:routines_rotation_members", args=[rotation.pk])
    response = operator.post(address, {"verb": "touch", "members": ids}, follow=True)
    assert told(response) == ["Choose at most 1,000 members at once."]


def test_what_is_refused_of_some_members_is_told(operator: Client, rotation: Rotation) -> None:
    """The others are done."""
    archived = make_member(rotation, "gone", routine={"status": "ARCHIVED"})
    living = make_member(rotation, "here")
    said = told(choose(operator, rotation, "run", archived, living))
    assert said[0] == "Asked for a run of here."
    assert said[1].startswith("Run now was refused for gone: ")


def test_members_that_take_too_long_are_asked_for_again(
    operator: Client, rotation: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always one at least; whoever is left is named."""
    monkeypatch.setattr(rotation_verb_pages, "SECONDS", -1)
    members = [make_member(rotation, f"m-{number}") for number in range(3)]
    page = choose(operator, rotation, "pause", *members, confirmed="1")
    assert told(page)[-1] == "2 members are left: confirm to go on."
    assert [member.name for member in page.context["members"]] == ["m-1", "m-2"]


@pytest.mark.parametrize("verb", sorted(ROTATION_VERBS))
def test_a_verb_of_a_rotation_needs_its_own_permission(login: Login, verb: str) -> None:
    """View and all the other permissions together are not enough."""
    rotation = make_rotation(seed=SEED, member_task=TASK)
    needed = ROTATION_VERBS[verb].permission
    others = {one.permission for one in ROTATION_VERBS.values()} - {needed}
    with_it, without = login("view_rotation", needed, name="a"), login("view_rotation", *others, name="b")
    assert with_it.get(verb_url(rotation, verb)).status_code in (200, 302)
    assert without.get(verb_url(rotation, verb)).status_code == 403
    assert without.post(verb_url(rotation, verb)).status_code == 403


@pytest.mark.parametrize("verb", sorted(MEMBER_VERBS))
def test_a_verb_of_members_needs_its_own_permission(login: Login, rotation: Rotation, verb: str) -> None:
    """Knowing the address is not enough."""
    member, needs = make_member(rotation, "m"), [MEMBER_VERBS[verb].permission, MEMBER_VERBS[verb].besides]
    every = {name for one in MEMBER_VERBS.values() for name in (one.permission, one.besides) if name}
    for number, needed in enumerate(filter(None, needs)):
        without = login("view_rotation", *(every - {needed}), name=f"b-{number}")
        assert choose(without, rotation, verb, member).status_code == 403
    assert choose(login("view_rotation", *needs, name="a"), rotation, verb, member).status_code == 200


def test_members_are_archived_by_those_who_may_change_them(login: Login, rotation: Rotation) -> None:
    """Others archive the rotation alone: nobody asks them about its members, and what they post says nothing."""
    member = make_member(rotation, "m")
    client = login("view_rotation", "change_rotation")
    assert "members" not in client.get(verb_url(rotation, "archive")).context["form"].fields
    press(client, rotation, "archive", members="on")
    assert Routine.objects.get(pk=rotation.pk).status == "ARCHIVED"
    assert Routine.objects.get(pk=member.pk).status == "ACTIVE"


def test_only_members_of_which_something_was_done_are_counted(operator: Client, rotation: Rotation) -> None:
    """Those that run, or were not paused, are told by themselves."""
    members = [make_member(rotation, f"m-{number}") for number in range(3)]
    tick = service.run_now(members[0].routine)
    RoutineRun.objects.filter(pk=tick.pk).update(status="RUNNING", started_at=clock.now())
    assert told(choose(operator, rotation, "run", *members)) == [
        "Asked for runs of 2 members.",
        "Skipped the run of m-0: it is already active (overlap).",
    ]
    service.pause_routine(members[1].routine)
    assert told(choose(operator, rotation, "resume", *members[:2])) == [
        "Resumed m-1.",
        "Left m-0 as it is: it was not paused.",
    ]
    assert last_entry().change_message == "Resumed m-1."


def test_parked_members_are_reset_together(operator: Client, rotation: Rotation) -> None:
    """They are active again."""
    parked = [make_member(rotation, f"m-{number}", routine={"status": "PARKED"}) for number in range(2)]
    assert told(choose(operator, rotation, "reset", *parked)) == ["Reset 2 members."]
    assert set(Routine.objects.filter(rotation=rotation).values_list("status", flat=True)) == {"ACTIVE"}


def test_after_a_verb_the_same_members_are_shown(operator: Client, rotation: Rotation) -> None:
    """Filter, search and page stay what they were, also over the page that asks."""
    member = make_member(rotation, "m", status="FRESH", due_at=clock.now() + HOUR)
    query = "?status=fresh&q=m&window=7d&after=1-1"
    address = reverse("admin:routines_rotation_members", args=[rotation.pk]) + query
    data = {"verb": "touch", "members": member.pk}
    assert operator.post(address, data)["Location"] == rotation_url(rotation, f"{query}#rt-members")
    asked = operator.post(address, data | {"verb": "pause"}).content.decode()
    assert f'action="{address}#rt-members"'.replace("&", "&amp;") in asked


def test_refusals_take_no_longer_than_deeds(
    operator: Client, rotation: Rotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is left is asked for again, also where nothing could be done yet."""
    monkeypatch.setattr(rotation_verb_pages, "SECONDS", -1)
    gone = [make_member(rotation, f"m-{number}", routine={"status": "ARCHIVED"}) for number in range(2)]
    assert told(choose(operator, rotation, "run", *gone))[-1] == "1 member is left: confirm to go on."


def test_a_verb_that_is_none_is_not_found(operator: Client, rotation: Rotation) -> None:
    """And nothing is done by looking at the address of members."""
    assert operator.get(verb_url(rotation, "explode")).status_code == 404
    assert choose(operator, rotation, "explode").status_code == 404
    address = reverse("admin:routines_rotation_members", args=[rotation.pk])
    assert operator.get(address)["Location"] == rotation_url(rotation)


def test_a_seeding_by_hand_goes_to_a_worker(operator: Client) -> None:
    """The web server calls nobody's code; asked for again, it is the same seeding."""
    rotation = make_rotation(seed=SEED, member_task=TASK)
    said = told(press(operator, rotation, "seed"))
    assert said == [f"Asked for a seeding of shops: a worker calls {SEED}."]
    press(operator, rotation, "seed")
    run = RoutineRun.objects.get()
    assert (run.status, run.phase, run.requested_by) == ("PENDING", "seed", "root")
    assert (run.routine_id, run.rotation_id) == (rotation.pk, rotation.pk)
    assert not RotationMember.objects.exists()


def test_a_rotation_without_a_callable_is_not_seeded_by_hand(operator: Client, rotation: Rotation) -> None:
    """There is no button, and the address leads back."""
    assert "seed" not in operator.get(rotation_url(rotation)).context["verbs"]
    assert press(operator, rotation, "seed").redirect_chain
    assert not service.list_runs(rotation.routine)
