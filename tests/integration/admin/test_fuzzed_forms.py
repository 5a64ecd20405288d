"""Forms and previews of the admin, filled with what nobody should type: a refusal or a page, never a crash."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import example, given
from hypothesis import strategies as st

from routines_app.admin.form import RoutineForm
from routines_app.admin.verb_buttons import VERBS
from routines_app.models import Pool, Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run
from tests.integration.admin.pages import list_url, run_url, verb_url
from tests.integration.admin.test_form import ADD, NEW, change_url, form_of, typed
from tests.integration.fuzzing import DEEP, DEEP_OBJECT, DIGITS, VALUES, Pairs, asked, fuzzed, over, pairs, posted

ADMIN = ["_continue", "_addanother", "_saveasnew", "_popup", "_to_field", "_changelist_filters", "csrfmiddlewaretoken"]
FIELDS = [*RoutineForm.base_fields, *ADMIN]
PREVIEWED = ["routine", "page_zone", "trigger_kind", "cron", "interval_ms", "timezone", "start_at", "end_at"]
PREVIEWED += ["once_at", "jitter_ms", "task", "queue", "concurrency_policy"]
ACTIONS = [
    "action",
    "_selected_action",
    "select_across",
    "index",
    "reason",
    "routines",
    "confirmed",
    "until",
    "release",
]
STATUSES = {"resume": "PAUSED", "delete": "ARCHIVED", "reset": "PARKED"}


class Scene:
    """Two routines with their pool, an ended and a waiting run, and the forms as a browser would show them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.pool = Pool.objects.create(name="warehouse", max_concurrent=2)
        stored = {"args": [1], "kwargs": {"token": "x", "a": [2]}, "tags": ["a"], "pool": self.pool}
        self.routine = make_routine("stored", interval_ms=60_000, **stored)
        self.cron = make_routine("nightly")
        self.ended = ended(self.routine, clock.now())
        self.waiting = make_run(self.routine, at=clock.now())
        self.adding = typed(form_of(client, reverse(ADD)), **NEW)
        self.changing = typed(form_of(client, change_url(self.routine)))


@pytest.fixture
def scene(operator: Client) -> Scene:
    return Scene(operator)


@fuzzed(12)
@given(changed=pairs(FIELDS))
@example(changed=[("args", DEEP.encode())])
@example(changed=[("kwargs", f'{{"a": {DIGITS}}}'.encode())])
@example(changed=[("parent", b"abc")])
@example(changed=[("pool", b"\x00")])
def test_adding_a_routine(scene: Scene, changed: Pairs) -> None:
    """Whatever is wrong is said at its field."""
    posted(scene.client, reverse(ADD), over(scene.adding, changed))


@fuzzed(12)
@given(changed=pairs(FIELDS))
@example(changed=[("kwargs", DEEP_OBJECT.encode())])
@example(changed=[("args", f"[{DIGITS}]".encode())])
@example(changed=[("_to_field", b"")])
def test_changing_a_routine(scene: Scene, changed: Pairs) -> None:
    """With stored secrets, and a version that may be anything."""
    posted(scene.client, change_url(scene.routine), over(scene.changing, changed))


@fuzzed(8)
@given(given_in=pairs(FIELDS))
def test_a_form_that_starts_with_values_from_its_address(scene: Scene, given_in: Pairs) -> None:
    """Django fills a new form from the address."""
    asked(scene.client, reverse(ADD), given_in)


@fuzzed(20)
@given(changed=pairs(PREVIEWED), kind=st.sampled_from(["CRON", "INTERVAL", "ONCE"]))
def test_the_preview(scene: Scene, changed: Pairs, kind: str) -> None:
    """It is asked at every key."""
    filled = {"routine": scene.routine.pk, "trigger_kind": kind, "cron": "0 9 * * *", "interval_ms": "5m"}
    filled |= {"timezone": "Europe/Paris", "task": scene.routine.task, "concurrency_policy": "FORBID"}
    filled |= {"once_at": "2100-01-01T00:00"}
    posted(scene.client, reverse("admin:routines_routine_preview"), over(filled, changed))


@fuzzed(20)
@given(data=st.data(), verb=st.sampled_from(sorted(VERBS)))
def test_every_verb(scene: Scene, data: Any, verb: str) -> None:
    """Arguments, times, durations and reasons; the routine is in the status that the verb is for."""
    changed = data.draw(pairs([*VERBS[verb].form.base_fields, "like"]))
    Routine.objects.filter(pk=scene.routine.pk).update(status=STATUSES.get(verb, "ACTIVE"))
    filled = {"release": "LAST", "interval": "5m", "ttl": "1h", "at": "2026-03-02T10:00", "end": "2026-03-02T10:00"}
    filled |= {"start": "2026-03-02T09:00", "args": "[1]", "kwargs": "{}"}
    posted(scene.client, verb_url(scene.routine, verb), over(filled, changed))
    asked(scene.client, verb_url(scene.routine, verb), changed)


@fuzzed(8)
@given(changed=pairs(["reason", "next", "like"]), page=st.sampled_from(["cancel", "abandon", "retry"]))
def test_every_verb_of_a_run(scene: Scene, changed: Pairs, page: str) -> None:
    """Of a run that waits and of one that has ended."""
    for run in (scene.ended, scene.waiting):
        posted(scene.client, run_url(run, page), changed)


@fuzzed(12)
@given(changed=pairs(ACTIONS), verb=st.sampled_from(["run", "pause", "resume", "reset", "clear_hints", "archive"]))
def test_the_actions_of_the_list(scene: Scene, changed: Pairs, verb: str) -> None:
    """What is chosen comes from the page too."""
    filled = {"action": f"{verb}_routines", "_selected_action": scene.routine.pk, "index": 0, "confirmed": 1}
    posted(scene.client, list_url(), over(filled, changed))


@fuzzed(8)
@given(changed=pairs(["name", "max_concurrent", *ADMIN]))
def test_pools(scene: Scene, changed: Pairs) -> None:
    """Adding and changing."""
    filled = {"name": "store", "max_concurrent": 3}
    posted(scene.client, reverse("admin:routines_pool_add"), over(filled, changed))
    posted(scene.client, reverse("admin:routines_pool_change", args=[scene.pool.pk]), over(filled, changed))
    assert RoutineRun.objects.count() == 2


@pytest.mark.parametrize("field", ["args", "kwargs"])
@fuzzed(4)
@given(value=VALUES)
@example(value=DEEP.encode())
@example(value=DEEP_OBJECT.encode())
def test_arguments_alone(scene: Scene, field: str, value: bytes) -> None:
    """Nothing else is wrong, so the service gets to see them."""
    posted(scene.client, change_url(scene.routine), over(scene.changing, [(field, value)]))
    posted(scene.client, verb_url(scene.routine, "run"), [(field, value)])
