"""No request asks more than fifteen questions, whatever there is to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import Client, TransactionTestCase
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import DjangoDbBlocker, Settings

from routines_app import service
from routines_app.admin.fleet_verbs import QUEUE_VERBS
from routines_app.admin.verb_buttons import VERBS
from routines_app.coordination import leases
from routines_app.models import Pool, Rotation, Routine, RoutineRun, RoutineState, RunLog
from routines_app.protocol.ledger import clock
from tests.browser.rotation_scene import a_rotation_at_work, make_member
from tests.browser.scenes import a_working_day, ended, make_routine, make_run
from tests.conftest import empty_tables
from tests.integration.admin.every_page.addresses import Pages, backfill_pages, batch_pages, filter_pages, runs_asked
from tests.integration.admin.pages import list_url, shown_in, verb_url

# MariaDB locks rows by their ids before it compares them; SQLite takes a bounded number of values in one statement.
MOST = 15 if connection.vendor == "postgresql" else 18
# A transaction, its limits, and the clock, which is read now and then: they ask nothing of any table.
TURNS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET ", "SELECT current_setting(", "SELECT @@SESSION.")
TURNS += ("SELECT clock_timestamp(", "SELECT UTC_TIMESTAMP(")


def questions(captured: CaptureQueriesContext) -> list[str]:
    return [query["sql"] for query in captured if not query["sql"].startswith(TURNS)]


@pytest.fixture(scope="module")
def filled(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Routine]:
    """Rows of every kind, more than one of each; the routine has a long chain, a log, hints and children.

    Committed once for all tests of this file, which take back what they change: to make them takes longer than to ask.
    """
    with django_db_blocker.unblock():
        with transaction.atomic():
            routine = fill()
        yield routine
        empty_tables(TransactionTestCase())


def fill() -> Routine:
    a_working_day()
    now = clock.now()
    pool = Pool.objects.create(name="broad", max_concurrent=3)
    routine = make_routine("broad", cron="* * * * * *", pool=pool, concurrency_policy="FORBID", tags=["a", "b"])
    first = ended(routine, now - timedelta(minutes=50), status="FAILED")
    for minutes in range(1, 40):
        attempt = ended(routine, now - timedelta(minutes=minutes), attempt=minutes + 1, chain=first.pk, retry_of=first)
        RunLog.objects.create(run=attempt, at=now, line="x")
    for number in range(30):
        make_routine(f"child-{number}", parent=routine, pool=pool)
        service.propose_interval(routine, f"{number + 1}h", ttl="2d", reason=f"the {number}th")
        make_run(routine, at=now, status="PENDING", pool=pool)
    rotation = a_rotation_at_work()
    for number in range(60):
        make_member(rotation, f"many-{number}", phase=number % 3, depth=number % 40, emphasis=1 + number % 4)
    return routine


@pytest.fixture
def broad(filled: Routine, db: None, redis_url: str) -> Routine:
    """That routine as it is stored, with a lease."""
    leases.acquire(filled.pk, str(RoutineRun.objects.filter(routine=filled).earliest("pk").pk), 30)
    return Routine.objects.get(pk=filled.pk)


def rotation_pages(client: Client) -> Pages:
    """Those of a rotation with much of everything."""
    rotation = Rotation.objects.get()
    pages = ("overview", "live", "members", "change", "history", "delete")
    found = {page: reverse(f"admin:routines_rotation_{page}", args=[rotation.pk]) for page in pages}
    found |= {page: reverse(f"admin:routines_rotation_{page}") for page in ("changelist", "add")}
    found["verb"] = reverse("admin:routines_rotation_verb", args=[rotation.pk, "archive"])
    return {
        f"routines_rotation_{page}": lambda address=address: client.get(address)  # type: ignore[misc]
        for page, address in found.items()
    }


def admin_pages(client: Client, routine: Routine) -> Pages:
    """Each address of ours, by its name."""
    run = RoutineRun.objects.filter(routine=routine, status="SUCCESS").latest("pk")
    of = {"routine": [routine.pk], "routinerun": [run.pk], "pool": [routine.pool_id]}
    found: Pages = {}
    for model, arguments in of.items():
        for page in ("changelist", "add", "change", "history", "delete"):
            address = f"admin:routines_{model}_{page}"
            given = [] if page in ("changelist", "add") else arguments
            found[f"routines_{model}_{page}"] = lambda address=address, given=given: client.get(
                reverse(address, args=given)
            )
    listed = reverse("admin:routines_routinerun_changelist")
    found["routines_routinerun_changelist"] = lambda: client.get(listed, runs_asked(routine) | {"slot": "1h ago"})
    for page in ("live", "cancel", "abandon", "retry"):
        address = reverse(f"admin:routines_routinerun_{page}", args=[run.pk])
        found[f"routines_routinerun_{page}"] = lambda address=address: client.get(address)
    overview = reverse("admin:routines_routine_overview", args=[routine.pk])
    return (
        found
        | rotation_pages(client)
        | batch_pages(client)
        | {
            "routines_routine_overview": lambda: client.get(overview),
            "routines_routine_copy": lambda: client.get(reverse("admin:routines_routine_copy", args=[routine.pk])),
            **backfill_pages(client, routine),
            **filter_pages(client),
            "routines_routine_verb": lambda: client.get(verb_url(routine, "run")),
            "routines_routine_preview": lambda: client.post(
                reverse("admin:routines_routine_preview"), schedule(routine)
            ),
            "routines_health": lambda: client.get(reverse("admin:routines_health")),
            "routines_run_groups": lambda: client.get(reverse("admin:routines_run_groups"), runs_asked(routine)),
            "routines_run_many": lambda: client.get(
                reverse("admin:routines_run_many", args=["retry"]), runs_asked(routine)
            ),
            "routines_zone": lambda: client.post(reverse("admin:routines_zone"), {"zone": "utc"}),
            "routines_fleet": lambda: client.get(reverse("admin:routines_fleet")),
            "routines_fleet_live": lambda: client.get(reverse("admin:routines_fleet_live"), {"pool": "broad"}),
            "routines_fleet_verb": lambda: client.get(reverse("admin:routines_fleet_verb", args=["clear-overrides"])),
            "routines_agenda": lambda: client.get(reverse("admin:routines_agenda"), {"window": "1d", "pool": "broad"}),
            "routines_pool_verb": lambda: client.get(
                reverse("admin:routines_pool_verb", args=[routine.pool_id, "stop"])
            ),
            "routines_plan": lambda: client.get(reverse("admin:routines_plan"), what_if(routine)),
        }
    )


def what_if(routine: Routine) -> dict[str, str]:
    """All that the form asks, and more."""
    typed = {"pool": "broad", f"ceiling_{routine.pool_id}": "9", "paused": "child-1, child-2", "resumed": "child-3"}
    typed |= {"routine": "broad", "priority": "HIGH", "concurrency": "ALLOW", "every": "10m"}
    return typed | {"more": '{"priorities": {"child-4": "LOW", "child-5": "LOW"}, "paused": ["child-6"]}'}


def schedule(routine: Routine) -> dict[str, str]:
    typed = {"trigger_kind": "CRON", "cron": "*/5 1-5 * * *", "timezone": "Europe/Berlin", "queue": "slow"}
    return typed | {"task": "no.such.task", "routine": str(routine.pk), "page_zone": "Asia/Tokyo"}


def names_of_urls() -> Iterator[str]:
    for model in (Routine, RoutineRun, Pool):
        yield from (pattern.name for pattern in admin.site.get_model_admin(model).get_urls() if pattern.name)


def asks_few(ask: Callable[[], Any], statuses: set[int]) -> None:
    ask()  # content types and the like are remembered after the first time
    with CaptureQueriesContext(connection) as captured:
        response = ask()
    assert response.status_code in statuses
    asked = questions(captured)
    assert len(asked) <= MOST, "\n".join(sql[:200] for sql in asked)


def test_every_page_asks_at_most_fifteen_questions(operator: Client, broad: Routine) -> None:
    """Every address that the admin has of us, found by its name: a new one cannot be forgotten."""
    pages = admin_pages(operator, broad)
    assert set(names_of_urls()) <= set(pages)
    for ask in pages.values():
        asks_few(ask, {200, 302, 403, 405})  # forms that nobody may use: runs are not added, routines not deleted


@pytest.mark.parametrize("verb", sorted(QUEUE_VERBS))
def test_the_verbs_of_the_queue_ask_at_most_fifteen_questions(operator: Client, broad: Routine, verb: str) -> None:
    """Of a pool with much that waits, asked for by hand or not."""
    now = clock.now()
    for routine in Routine.objects.filter(parent=broad):
        make_run(routine, at=now, trigger="manual", requested_at=now, requested_by="x", pool=broad.pool)
    make_routine("idle", pool=broad.pool)
    address = reverse("admin:routines_fleet_verb", args=[verb]) + "?pool=broad"
    asks_few(lambda: operator.get(address), {200})
    shown = shown_in(operator.get(address))
    ContentType.objects.get_for_model(Pool)  # remembered after the first time
    with CaptureQueriesContext(connection) as captured:
        assert operator.post(address, shown).status_code == 302
    asked = questions(captured)
    assert len(asked) <= MOST, "\n".join(sql[:120] for sql in asked)
    assert LogEntry.objects.exists()  # it was done


@pytest.mark.parametrize(
    "filters",
    [
        "q=child",
        "health=failing",
        "health=late",
        "health=hinted",
        "tag=a",
        "status__exact=ACTIVE",
        "task=unregistered&ran=never&declared=code&group=g&pool=none&tag=a&tag=b&tags=any",
        "health=failing&task=unregistered&q=child&o=4",
        "o=4",
        "all=",
        "p=1",
    ],
)
def test_every_filter_of_the_list_asks_at_most_fifteen_questions(
    operator: Client, broad: Routine, filters: str
) -> None:
    """However the list is asked for."""
    asks_few(lambda: operator.get(f"{list_url()}?{filters}"), {200})


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_asks_at_most_fifteen_questions(operator: Client, broad: Routine, verb: str) -> None:
    """The page before it, and the deed itself, with much that it concerns."""
    RoutineState.objects.update(failure_count=2)
    prepare(broad, verb)
    address = verb_url(broad, verb)
    asks_few(lambda: operator.get(address), {200})
    at = clock.now()
    typed = {
        "interval": "5m",
        "factor": "3",
        "ttl": "1h",
        "release": "SKIP",
        "at": f"{at + timedelta(minutes=5):%Y-%m-%dT%H:%M:%S}",
    }
    typed |= {"start": f"{at - timedelta(minutes=2):%Y-%m-%dT%H:%M:%S}", "end": f"{at:%Y-%m-%dT%H:%M:%S}"}
    if verb == "backfill":
        asks_few(lambda: operator.post(address, typed), {200})  # it says first what it makes
        typed |= {"counted": operator.post(address, typed).context["form"]["counted"].value()}
    with CaptureQueriesContext(connection) as captured:
        assert operator.post(address, typed).status_code == 302
    asked = questions(captured)
    assert len(asked) <= (MOST if verb != "delete" else 2 * MOST), "\n".join(sql[:120] for sql in asked)


def prepare(routine: Routine, verb: str) -> None:
    """What the verb needs the routine to be."""
    if verb == "resume":
        service.pause_routine(routine)
    if verb == "give-back":
        trigger = {"trigger_kind": "CRON", "cron": "0 3 * * *", "interval_ms": None, "timezone": "UTC"}
        Routine.objects.filter(pk=routine.pk).update(declared_in="code:shop", declared=trigger | {"max_attempts": 9})
    if verb == "delete":
        Routine.objects.filter(parent=routine).update(parent=None)
        service.archive_routine(routine)


def test_a_resume_of_many_asks_at_most_fifteen_questions(operator: Client, broad: Routine) -> None:
    """What each would release is counted from what was read at once."""
    chosen = list(Routine.objects.filter(name__startswith="child").values_list("pk", flat=True))
    for routine_id in chosen:
        service.pause_routine(routine_id)
    data = {"action": "resume_routines", "_selected_action": chosen, "select_across": "0"}
    asks_few(lambda: operator.post(list_url(), data), {200})


def test_the_form_is_saved_with_at_most_fifteen_questions(operator: Client, broad: Routine) -> None:
    """An edit of the schedule leaves slots behind, in one row."""
    service.pause_routine(broad)
    RoutineState.objects.filter(pk=broad.pk).update(next_slot=clock.now() - timedelta(days=3_000))
    address = reverse("admin:routines_routine_change", args=[broad.pk])
    form = operator.get(address).context["adminform"].form
    typed = {field.html_name: "" if field.value() in (None, False) else field.value() for field in form}
    with CaptureQueriesContext(connection) as captured:
        assert operator.post(address, typed | {"cron": "0 5 * * *"}).status_code == 302
    assert Routine.objects.get(pk=broad.pk).cron == "0 5 * * *"
    assert len(questions(captured)) <= MOST, questions(captured)


def test_the_views_ask_at_most_fifteen_questions(operator: Client, broad: Routine, settings: Settings) -> None:
    """Those of a project's own pages."""
    settings.ROOT_URLCONF = "tests.browser.urls"
    for verb in ("run", "pause", "resume"):
        with CaptureQueriesContext(connection) as captured:
            assert operator.post(reverse(f"routines:{verb}", args=[broad.pk])).status_code in (200, 201)
        assert len(questions(captured)) <= MOST, questions(captured)
    asks_few(lambda: operator.get(reverse("routines:runs", args=[broad.pk]), {"limit": "100"}), {200})
