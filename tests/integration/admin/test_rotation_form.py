"""Adding and changing rotations, and routines that are their members, through forms."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from routines_app import service
from routines_app.admin import rotation_acts
from routines_app.admin.rotation_form_page import FIELDSETS
from routines_app.masks import MASK
from routines_app.models import Rotation, RotationMember, Routine, ScheduleChange
from routines_app.verbs.rotations import finding
from tests.browser.rotation_scene import PHASES, make_rotation
from tests.browser.scenes import TASK, make_routine
from tests.integration.admin.pages import last_entry, rotation_url, told
from tests.integration.admin.test_form import change_url as routine_change_url
from tests.integration.admin.test_form import form_of, save

ADD = "admin:routines_rotation_add"
LISTED = "tests.integration.admin.test_rotation_verbs.shops"
NEW = {"name": "shops", "trigger_kind": "INTERVAL", "interval_ms": "15m"}


def change_url(rotation: Rotation) -> str:
    return reverse("admin:routines_rotation_change", args=[rotation.pk])


def test_a_rotation_is_added_through_the_service(operator: Client) -> None:
    """It is planned at once, and history and audit trail name who and why."""
    typed = {**NEW, "budget": "3", "fresh_for_ms": "6h", "member_task": TASK, "tags": "a, b"}
    response = save(operator, reverse(ADD), **typed, phases=json.dumps(PHASES[:1]), change_reason="asked by sales")
    rotation = Rotation.objects.select_related("routine__state").get()
    assert response.redirect_chain[-1][0] == rotation_url(rotation)
    assert (rotation.budget, rotation.max_in_flight, rotation.fresh_for_ms) == (3, 3, 21_600_000)
    assert (rotation.member_task, rotation.phases) == (TASK, PHASES[:1])
    assert (rotation.routine.interval_ms, rotation.routine.tags) == (900_000, ["a", "b"])
    assert rotation.routine.state.next_run_at is not None
    assert last_entry().change_message == "Added. Why: asked by sales"
    assert ScheduleChange.objects.filter(kind="created", actor="root").exists()


def test_a_rotation_by_cron(operator: Client) -> None:
    """The other field of the trigger is not asked for."""
    save(operator, reverse(ADD), **(NEW | {"trigger_kind": "CRON", "cron": "0 * * * *", "interval_ms": ""}))
    assert Routine.objects.values_list("trigger_kind", "cron").get() == ("CRON", "0 * * * *")


def test_only_what_differs_is_changed(operator: Client) -> None:
    """The version grows once, and what somebody else changed meanwhile stays."""
    rotation = make_rotation(budget=2, max_in_flight=5)
    save(operator, change_url(rotation), budget="4", name="stores")
    rotation.refresh_from_db()
    assert (rotation.budget, rotation.max_in_flight, rotation.routine.name) == (4, 5, "stores")
    assert last_entry().change_message == "Changed budget, name."
    before = Routine.objects.get().version
    save(operator, change_url(rotation))
    assert Routine.objects.get().version == before


def test_a_form_that_is_older_than_the_rotation_is_refused(operator: Client) -> None:
    """Nothing is lost by whoever saves last."""
    rotation = make_rotation(phases=[])
    Routine.objects.update(version=7)
    page = save(operator, change_url(rotation), budget="4", read_version="6")
    assert "version" in str(page.context["adminform"].form.non_field_errors())
    assert Rotation.objects.get().budget == 1


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize(
    ("typed", "field", "says"),
    [
        ({"budget": "0"}, "budget", "between 1 and"),
        ({"budget": "x"}, "budget", "whole number"),
        ({"max_in_flight": "0"}, "max_in_flight", "between 1 and"),
        ({"fresh_for_ms": "soon"}, "fresh_for_ms", "30s"),
        ({"depth_weight": "-1"}, "depth_weight", "between 0 and"),
        ({"name": "taken"}, "name", "no other routine"),
        ({"interval_ms": ""}, "interval_ms", "needs"),
        ({"interval_ms": "1ms"}, "interval_ms", "1s"),
        ({"trigger_kind": "CRON", "cron": "61 * * * *"}, "cron", "minute"),
        ({"phases": "{}"}, "phases", "json list"),
        ({"phases": '[{"name": "seed", "task": "x"}]'}, "phases", "phases[0].name"),
        ({"phases": '[{"name": "a:b", "task": "x"}]'}, "phases", "phases[0].name"),
        ({"phases": '[{"name": "a", "task": "x"}, {"name": "a", "task": "x"}]'}, "phases", "name of its own"),
        ({"seed": "no path"}, "seed", "valid choice"),
        ({"seed": "os.abort"}, "seed", "valid choice"),
        ({"timezone": "Mars/Olympus"}, "timezone", "iana"),
    ],
)
def test_what_is_refused_stands_at_its_field(operator: Client, typed: dict[str, str], field: str, says: str) -> None:
    """With what was typed, once; nothing is written."""
    make_routine("taken")
    rotation = make_rotation("mine")
    for address in (reverse(ADD), change_url(rotation)):
        form = save(operator, address, **(NEW | typed)).context["adminform"].form
        assert list(form.errors) == [field], form.errors
        assert len(form.errors[field]) == 1
        assert says in form.errors[field][0].lower()
    assert list(Rotation.objects.values_list("routine__name", "budget")) == [("mine", 1)]


def test_only_a_callable_that_the_settings_list_is_chosen(operator: Client, settings: Settings) -> None:
    """Workers run it: what may be typed elsewhere may not be typed here."""
    settings.ROUTINES = settings.ROUTINES | {"SEEDS": [LISTED]}
    save(operator, reverse(ADD), **NEW, seed=LISTED)
    assert Rotation.objects.get().seed == LISTED
    field = form_of(operator, reverse(ADD)).fields["seed"]
    assert [value for value, _ in field.choices] == ["", LISTED]
    assert 'ROUTINES["SEEDS"]' in field.help_text


def test_a_callable_that_is_not_listed_stays_and_is_not_imported(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has put it there had the right to; saving something else changes nothing about it."""
    monkeypatch.setattr("routines_app.verbs.rotations.callables.import_string", pytest.fail)
    rotation = make_rotation(seed="shop.nowhere.members", phases=[])
    save(operator, change_url(rotation), budget="4")
    rotation.refresh_from_db()
    assert (rotation.budget, rotation.seed) == (4, "shop.nowhere.members")


def test_a_doubtful_task_or_callable_is_saved_with_a_warning(operator: Client, settings: Settings) -> None:
    """Of every phase, and of members; each says which may have been meant."""
    settings.ROUTINES = settings.ROUTINES | {"SEEDS": ["shop.nowhere.members"]}
    phases = [{"name": "a", "task": TASK}, {"name": "b", "task": TASK + "x"}, {"name": "c", "task": "no.such"}]
    typed = {"phases": json.dumps(phases), "other_task": "not.here", "seed": "shop.nowhere.members"}
    said = [text for text in told(save(operator, reverse(ADD), **NEW, **typed)) if not text.startswith("Saved")]
    assert [text.partition(":")[0] for text in said] == [
        "Runs of task not.here fail where no worker knows it",
        f"Runs of task {TASK}x fail where no worker knows it",
        "Runs of task no.such fail where no worker knows it",
        "Callable shop.nowhere.members",
    ]
    assert f"did you mean {TASK}" in said[1]
    assert "cannot be imported" in said[3]
    rotation = Rotation.objects.get()
    typed = {"name": "m", "task": TASK, "trigger_kind": "MANUAL", "rotation": str(rotation.pk)}
    added = save(operator, reverse("admin:routines_routine_add"), **typed, phases='[{"name": "a", "task": "x.y"}]')
    assert any("task x.y fail where no worker knows it: no such task" in text for text in told(added))


def test_secrets_of_phases_are_hidden_and_restored(operator: Client) -> None:
    """A mask means what is stored while the phases stay as they are, and is refused when they do not."""
    rotation = make_rotation()
    form: Any = form_of(operator, change_url(rotation))
    assert "k-123" not in operator.get(change_url(rotation)).content.decode()
    assert MASK in str(form["phases"].value())
    save(operator, change_url(rotation), budget="2")
    assert Rotation.objects.get().phases == PHASES
    shown = str(form.fields["phases"].prepare_value(PHASES))
    page = save(operator, change_url(rotation), phases=shown.replace("plan", "draft"))
    assert "type it anew" in page.context["adminform"].form.errors["phases"][0]
    assert Rotation.objects.get().phases == PHASES


def test_every_field_of_the_form_is_in_a_fieldset(operator: Client) -> None:
    """A field that is forgotten would be asked of nobody."""
    shown = {name for _, options in FIELDSETS for row in options["fields"] for name in _names(row)}
    assert shown == set(form_of(operator, reverse(ADD)).fields)


def _names(row: Any) -> tuple[str, ...]:
    return (row,) if isinstance(row, str) else tuple(row)


def test_a_routine_becomes_a_member_in_its_form(operator: Client) -> None:
    """By naming the rotation; how it overlaps follows from that."""
    rotation = make_rotation()
    typed = {"name": "m", "task": TASK, "trigger_kind": "MANUAL", "rotation": str(rotation.pk)}
    save(operator, reverse("admin:routines_routine_add"), **typed, phases='[{"name": "a", "task": "x.y"}]')
    member = RotationMember.objects.select_related("routine").get()
    assert (member.rotation_id, member.routine.concurrency_policy) == (rotation.pk, "FORBID")
    assert member.routine.phases == [{"name": "a", "task": "x.y"}]
    save(operator, routine_change_url(member.routine), rotation="", phases="[]")
    assert not RotationMember.objects.exists()


def test_only_a_routine_that_fires_by_hand_can_be_a_member(operator: Client) -> None:
    """Said at the field."""
    rotation, routine = make_rotation(), make_routine()
    form = save(operator, routine_change_url(routine), rotation=str(rotation.pk)).context["adminform"].form
    assert "fires by hand" in form.errors["rotation"][0]
    form = save(operator, routine_change_url(routine), phases='[{"name": "a"}]').context["adminform"].form
    assert "phases[0].task" in form.errors["phases"][0].lower()


def test_secrets_of_a_members_phases_are_hidden(operator: Client) -> None:
    """As its arguments are."""
    routine = make_routine("m", trigger_kind="MANUAL", cron="", rotation=make_rotation(), phases=PHASES)
    assert "k-123" not in operator.get(routine_change_url(routine)).content.decode()
    save(operator, routine_change_url(routine), description="changed")
    assert Routine.objects.get(pk=routine.pk).phases == PHASES


def test_the_form_of_a_rotations_own_routine_is_the_rotations(operator: Client) -> None:
    """Its task and its arguments are nobody's to change."""
    rotation = make_rotation()
    assert operator.get(routine_change_url(rotation.routine))["Location"] == change_url(rotation)


@pytest.mark.django_db(transaction=True)
def test_a_new_freshness_of_very_many_is_gone_on_with_by_saving_again(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is written at once; its members follow for a moment, and the page says that there are more."""
    rotation = make_rotation()
    service.add_members(rotation, [{"name": f"m{number}", "task": TASK} for number in range(3)])
    RotationMember.objects.update(status="FRESH", due_at=F("stale_since") + timedelta(days=1))
    monkeypatch.setattr(finding, "BATCH", 1)
    monkeypatch.setattr(rotation_acts, "SECONDS", -1.0)
    fresh = RotationMember.objects.filter(due_at=F("stale_since") + timedelta(hours=1))
    for done in (1, 2, 3):
        response = save(operator, change_url(rotation), fresh_for_ms="1h")
        assert response.redirect_chain[-1][0] == change_url(rotation)
        assert "save it again to go on" in response.content.decode()
        assert (fresh.count(), Rotation.objects.get().fresh_for_ms) == (done, 3_600_000)
    assert save(operator, change_url(rotation)).redirect_chain[-1][0] == rotation_url(rotation)
