"""Every word of every page is a message: a language that writes all messages in brackets leaves none outside.

Texts that people, tasks and projects have stored are data, in whatever language they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model
from django.template import engines
from django.test import Client, RequestFactory, TransactionTestCase
from django.urls import reverse
from pytest_django import DjangoDbBlocker, Settings

from routines_app import service
from routines_app.admin.actions import LIST_ACTIONS
from routines_app.admin.fleet_verbs import QUEUE_VERBS
from routines_app.admin.pool_verbs import POOL_VERBS
from routines_app.admin.rotation_verbs import MEMBER_VERBS, ROTATION_VERBS
from routines_app.admin.run_actions import RUN_ACTIONS
from routines_app.admin.verb_buttons import VERBS
from routines_app.models import (
    Node,
    PauseBatch,
    Pool,
    Rotation,
    Routine,
    RoutineRun,
    RoutineState,
    RunLog,
    SavedFilter,
    ScheduleChange,
)
from routines_app.protocol.ledger import clock
from tests.conftest import empty_tables
from tests.integration.admin.every_page.pseudo_language import Unsaid, spoken
from tests.integration.admin.every_page.test_bounds import admin_pages, fill, prepare
from tests.integration.admin.pages import list_url, overview_url, press, run_url, verb_url

STORED: dict[type[Model], tuple[str, ...]] = {
    Routine: ("name", "task", "description", "tags", "queue", "timezone", "cron", "pause_reason", "group", "kwargs"),
    RoutineRun: ("worker", "error", "requested_by", "progress", "phase", "task"),
    RunLog: ("line",),
    Pool: ("name",),
    Rotation: ("phases", "seed", "member_task"),
    PauseBatch: ("name", "reason", "created_by"),
    ScheduleChange: ("actor", "reason"),
    Node: ("name", "host"),
    SavedFilter: ("name",),
    User: ("username",),
    LogEntry: ("change_message",),
}
# What the tests type themselves, and examples of what the service reads.
TYPED = {"broad", "slow", "w", "t", "n", "ValueError: #", "x y", "nowhere", "soon", "some day"}
TYPED |= {"2h ago", "1h ago", "now", "03:00 yesterday", "concurrency_policy, cron, max_attempts, pool, tags, timezone"}


@pytest.fixture(scope="module")
def filled(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[int]:
    """Rows of every kind, as for the bounds of pages."""
    with django_db_blocker.unblock():
        with transaction.atomic():
            routine = fill()
        yield routine.pk
        empty_tables(TransactionTestCase())


@pytest.fixture
def routine(filled: int, operator: Client, settings: Settings) -> Iterator[Routine]:
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.endswith("LocaleMiddleware")]
    with spoken():
        yield Routine.objects.get(pk=filled)


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for part in value.items() for one in part for text in texts_in(one))
    elif isinstance(value, list):
        yield from (text for part in value for text in texts_in(part))


def stored() -> set[str]:
    """What the scene's rows say in words of their own."""
    rows = (row for model, fields in STORED.items() for row in model._default_manager.values_list(*fields).distinct())
    return {text for row in rows for value in row for text in texts_in(value)}


def all_said(pages: dict[str, Callable[[], Any]]) -> None:
    """Each page is opened; words that are no message are told, each with the pages that have them."""
    before = stored()
    answers = {name: ask() for name, ask in pages.items()}
    unsaid, found = Unsaid(before | stored() | TYPED), defaultdict[str, list[str]](list)
    for name, answer in answers.items():
        for text in unsaid.of(answer):
            found[text].append(name)
    told = [f"{text[:160]!r} on {', '.join(names[:3])}" for text, names in found.items()]
    assert not told, "\n".join(["words that are no message:", *told])


def posted(client: Client, address: str, **typed: Any) -> Callable[[], Any]:
    return lambda: client.post(address, typed, follow=True)


def opened(client: Client, address: str, **typed: Any) -> Callable[[], Any]:
    return lambda: client.get(address, typed)


def test_every_page_is_said(operator: Client, routine: Routine) -> None:
    """Lists, forms, pages of one thing and their fragments."""
    all_said(admin_pages(operator, routine) | {"index": opened(operator, reverse("admin:index"))})


def test_forms_with_errors_are_said(operator: Client, routine: Routine) -> None:
    """Django's errors, ours and those of the service."""
    wrong = {"name": "", "task": "x y", "trigger_kind": "CRON", "cron": "61 * * * *", "interval_ms": "soon"}
    wrong |= {"timezone": "Mars/Base", "args": "{", "kwargs": "[", "tags": "a," * 99, "max_attempts": "0"}
    address = "admin:routines_{}_add"
    preview = reverse("admin:routines_routine_preview")
    all_said(
        {f"add {model}": posted(operator, reverse(address.format(model)), **wrong) for model in ("routine", "rotation")}
        | {
            "add pool": posted(operator, reverse("admin:routines_pool_add"), name="", max_concurrent="-1"),
            "preview": posted(operator, preview, **wrong),
            "preview of the past": posted(operator, preview, trigger_kind="ONCE", once_at="2020-01-01T00:00:00"),
            "batch": posted(operator, reverse("admin:routines_batch_new"), by="pool", value="nowhere", name=""),
            "plan": opened(operator, reverse("admin:routines_plan"), pool="nowhere", every="soon", more="{", now="x"),
            "agenda": opened(operator, reverse("admin:routines_agenda"), pool="nowhere"),
            "runs": opened(
                operator,
                reverse("admin:routines_routinerun_changelist"),
                **{"from": "soon", "status": "X", "slot": "y"},
            ),
            "why": opened(operator, overview_url(routine), why="some day"),
            "why?": opened(operator, overview_url(routine), why="2 h ago"),
        }
    )


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_of_a_routine_is_said(operator: Client, routine: Routine, verb: str) -> None:
    """Its question, its errors and what it tells afterwards."""
    RoutineState.objects.update(failure_count=2)
    prepare(routine, verb)
    address, at = verb_url(routine, verb), clock.now()
    right = {"interval": "5m", "factor": "3", "ttl": "1h", "release": "LAST", "reason": "broad"}
    right |= {"at": f"{at + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}", "args": "[]", "kwargs": "{}"}
    right |= {"start": f"{at - timedelta(minutes=2):%Y-%m-%dT%H:%M:%S}", "end": f"{at:%Y-%m-%dT%H:%M:%S}"}
    wrong = dict.fromkeys(right, "{") | {"until": "2020-01-01T00:00:00", "reason": "x" * 501}
    all_said(
        {
            "asked": opened(operator, address),
            "refused": posted(operator, address, **wrong),
            "first": posted(operator, address, **right),
            "done": lambda: press(operator, address, **right),
        }
    )


@pytest.mark.parametrize("action", [one.__name__ for one in LIST_ACTIONS])
def test_every_action_of_the_list_is_said(operator: Client, routine: Routine, action: str) -> None:
    """For many at once: its question, or what became of each."""
    chosen = list(Routine.objects.filter(parent=routine).values_list("pk", flat=True)[:3])
    form = {"action": action, "_selected_action": chosen, "select_across": "0"}
    confirmed = form | {"confirmed": "1", "release": "SKIP", "interval": "5m", "ttl": "1h", "factor": "2"}
    all_said({"asked": posted(operator, list_url(), **form), "done": posted(operator, list_url(), **confirmed)})


def test_the_acts_on_runs_are_said(operator: Client, routine: Routine) -> None:
    """One of them and many of them; chosen, or all that match."""
    running = RoutineRun.objects.filter(status="RUNNING").latest("pk")
    failed = RoutineRun.objects.filter(status="FAILED").latest("pk")
    runs = reverse("admin:routines_routinerun_changelist")
    pages: dict[str, Callable[[], Any]] = {
        f"{page} {run.status}": opened(operator, run_url(run, page))
        for run in (running, failed)
        for page in ("change", "live", "cancel", "abandon", "retry")
    }
    for name in [one.__name__ for one in RUN_ACTIONS]:
        form = {"action": name, "_selected_action": [str(running.pk), str(failed.pk)], "select_across": "0"}
        pages[name] = posted(operator, runs, **form)
    for act, status in (("retry", "FAILED"), ("cancel", "PENDING")):
        address = reverse("admin:routines_run_many", args=[act]) + f"?status={status}"
        pages[f"{act} many"] = lambda address=address: press(operator, address)  # type: ignore[misc]
    pages |= {
        "retry": posted(operator, run_url(failed, "retry")),
        "abandon": posted(operator, run_url(running, "abandon")),
    }
    all_said(pages)


def test_the_verbs_of_pools_queues_and_rotations_are_said(operator: Client, routine: Routine) -> None:
    """Their questions, and what they tell afterwards."""
    rotation = Rotation.objects.get()
    addresses = {
        f"pool {verb}": reverse("admin:routines_pool_verb", args=[routine.pool_id, verb]) for verb in POOL_VERBS
    }
    addresses |= {f"queue {verb}": reverse("admin:routines_fleet_verb", args=[verb]) for verb in QUEUE_VERBS}
    named = {verb: reverse("admin:routines_rotation_verb", args=[rotation.pk, verb]) for verb in ROTATION_VERBS}
    addresses |= {f"rotation {verb}": address for verb, address in named.items()}
    members, chosen = reverse("admin:routines_rotation_members", args=[rotation.pk]), rotation.members.all()[:2]
    pages = {f"{name} asked": opened(operator, address) for name, address in addresses.items()}
    pages |= {
        f"members {verb}": posted(operator, members, verb=verb, members=[one.pk for one in chosen])
        for verb in MEMBER_VERBS
    }
    all_said(pages | {f"{name} done": posted(operator, address) for name, address in addresses.items()})


def test_a_batch_that_is_resumed_is_said(operator: Client, routine: Routine) -> None:
    """Paused, and resumed."""
    batch = service.pause_batch(name="broad", pool="broad", reason="broad", actor="grace")
    address = reverse("admin:routines_batch", args=[batch.pk])
    lists = reverse("admin:routines_batches")
    all_said(
        {
            "open": opened(operator, address),
            "counted": posted(operator, reverse("admin:routines_batch_new"), by="pool", value="broad", name="broad"),
            "resumed": posted(operator, address, release="LAST"),
            "over": opened(operator, lists + "?closed"),
        }
    )


def test_the_button_of_a_projects_own_page_is_said(routine: Routine, settings: Settings) -> None:
    """And what its script says."""
    settings.ROOT_URLCONF = "tests.browser.urls"
    request = RequestFactory().get("/")
    request.user = User.objects.get(username="root")
    page = engines["django"].from_string('{% load routines %}{% routine_button "broad" %}').render({}, request)
    assert "data-say-pending" in page
    assert Unsaid({"broad"}).of_markup(page) == []
