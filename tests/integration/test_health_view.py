"""`/routines/health/`: 200 or 503 for anybody, and why for those who may look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.urls import resolve
from pytest_django import Settings

from routines_app.models import Role, Routine
from routines_app.verbs.health import health as verb
from routines_app.verbs.health import recent, shared
from routines_app.verbs.health.health import Health
from tests.integration.conftest import Login, Time
from tests.integration.verbs.health.nodes import seen
from tests.processes import wait_for

ADDRESS = "/routines/health/"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An answer of one test is none of the next; and a busy machine may take its time."""
    monkeypatch.setattr(recent, "SECONDS", 60.0)
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def fleet(transactional_db: None, time: Time) -> None:
    seen("beat@a:1", time)
    seen("worker@a:2", time)


def test_it_is_for_anybody_and_says_little(fleet: None, client: Client) -> None:
    """Neither names nor numbers."""
    response = client.get(ADDRESS)
    assert (response.status_code, response.json()) == (200, {"healthy": True})


def test_it_is_503_when_somebody_is_missing(transactional_db: None, time: Time, client: Client) -> None:
    seen("beat@a:1", time)
    response = client.get(ADDRESS)
    assert (response.status_code, response.json()) == (503, {"healthy": False})
    assert client.get(ADDRESS, {"only": "beat"}).status_code == 200
    assert client.get(ADDRESS, {"only": "worker"}).status_code == 503


def test_a_plan_that_does_not_move_is_503(
    transactional_db: None, make: Callable[..., Routine], time: Time, client: Client
) -> None:
    make("secret-report", every="1h")
    time.pass_by(hours=2)
    seen("beat@a:1", time)
    seen("worker@a:2", time)
    response = client.get(ADDRESS)
    assert response.status_code == 503
    assert b"secret-report" not in response.content


def test_only_who_may_look_is_told_why(fleet: None, login: Login, viewer: Client) -> None:
    """And nobody learns a routine's name here."""
    assert login("run_routine").get(ADDRESS).json() == {"healthy": True}
    told = viewer.get(ADDRESS).json()
    assert told["beats"]["alive"] == 1
    assert told["why"] == "1 beat, seen 0s ago; 1 worker, seen 0s ago; nothing is overdue"


def test_a_word_that_is_none_is_refused(fleet: None, client: Client) -> None:
    assert client.get(ADDRESS, {"only": "<script>"}).status_code == 400


def test_it_is_read_only_and_never_kept(fleet: None, client: Client) -> None:
    response = client.get(ADDRESS)
    assert "no-store" in response["Cache-Control"]
    assert "no-store" in client.head(ADDRESS)["Cache-Control"]
    assert client.head(ADDRESS).content == b""
    for verb_of_http in (client.post, client.put, client.patch, client.delete):
        assert verb_of_http(ADDRESS).status_code == 405


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the ledger, question by question."""
    asked: list[str] = []

    def by_ledger(roles: list[Role], *_: object, **__: object) -> Health:
        asked.append("-".join(roles))
        return Health(healthy=True, why="")

    monkeypatch.setattr(verb, "_by_ledger", by_ledger)
    return asked


def test_however_often_it_is_asked_the_ledger_is_asked_once(
    client: Client, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a moment; about beats and about workers apart."""
    assert recent.KEPT_SECONDS <= 2
    monkeypatch.setattr(recent, "KEPT_SECONDS", 600)  # a busy machine may take longer for these
    for address in (ADDRESS, ADDRESS, f"{ADDRESS}?only=beat", f"{ADDRESS}?only=worker", f"{ADDRESS}?only=beat"):
        assert client.get(address).json() == {"healthy": True}
    assert asked == ["beat-worker", "beat", "worker"]
    cache.clear()  # as time does
    client.get(ADDRESS)
    assert asked[3:] == ["beat-worker"]


@pytest.mark.parametrize("kept", ["raises", "lies"])
def test_a_cache_that_is_broken_is_not_needed(
    client: Client, asked: list[str], monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    """It is away, or has something else under the key."""

    def away(*_: object, **__: object) -> str:
        if kept == "raises":
            raise ConnectionError("no cache")
        return "something"

    monkeypatch.setattr(shared, "cache", SimpleNamespace(get=away, set=away))
    for _ in range(2):
        assert client.get(ADDRESS).status_code == 200
    assert len(asked) == 2


def test_a_database_that_hangs_takes_one_thread_and_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told 503 in time, and only the first has asked; when it answers at last, the next may."""
    thawed, asked = Event(), []

    def hang(*_: object, **__: object) -> Health:
        asked.append(1)
        thawed.wait(60)
        return Health(healthy=True, why="")

    monkeypatch.setattr(verb, "_by_ledger", hang)
    monkeypatch.setattr(recent, "SECONDS", 0.1)
    assert [client.get(ADDRESS).status_code for _ in range(3)] == [503, 503, 503]
    wait_for(lambda: asked, 10, "nobody asks")
    assert len(asked) == 1
    thawed.set()
    wait_for(lambda: not recent._shared._turn.lock.locked(), 10, "it still asks")
    monkeypatch.setattr(recent, "SECONDS", 60.0)
    assert client.get(ADDRESS).status_code == 200


def test_a_question_that_never_comes_back_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection may be dead, which the operating system finds out hours later: the next one asks anew."""
    thawed = Event()
    monkeypatch.setattr(verb, "_by_ledger", lambda *_, **__: thawed.wait(60))
    monkeypatch.setattr(recent, "SECONDS", 0.1)
    assert client.get(ADDRESS).status_code == 503
    monkeypatch.setattr(shared, "GIVEN_UP_SECONDS", 0.0)
    monkeypatch.setattr(recent, "SECONDS", 60.0)
    monkeypatch.setattr(verb, "_by_ledger", lambda *_, **__: Health(healthy=True, why=""))
    assert client.get(ADDRESS).status_code == 200
    thawed.set()


def test_a_database_that_is_away_is_503(
    transactional_db: None, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an error page, and nobody is told where it is who cannot be asked who he is."""

    def away(*_: object, **__: object) -> None:
        raise OperationalError("connection to db.internal failed")

    monkeypatch.setattr(verb, "_by_ledger", away)
    assert (Client().get(ADDRESS).status_code, Client().get(ADDRESS).json()) == (503, {"healthy": False})
    assert "db.internal" in viewer.get(ADDRESS).json()["why"]
    monkeypatch.setattr("django.contrib.auth.models.User.has_perm", away)
    response = viewer.get(ADDRESS)
    assert (response.status_code, response.json()) == (503, {"healthy": False})


def test_it_begins_no_transaction_of_its_own() -> None:
    """Under ATOMIC_REQUESTS a database that is away would be an error page, before the view is called."""
    assert resolve(ADDRESS).func._non_atomic_requests == {"default"}


def test_it_needs_no_users(fleet: None, client: Client, settings: Settings) -> None:
    """A project may have its own way to know people, or none."""
    settings.MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
    assert client.get(ADDRESS).json() == {"healthy": True}
