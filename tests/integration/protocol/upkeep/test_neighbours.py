"""Two projects under one prefix in one Redis: the second says so, and nobody else does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.db import connection, connections, transaction

from routines_app import checks
from routines_app.coordination.redis_client import key
from routines_app.models import Node
from routines_app.protocol.ledger import identity
from routines_app.protocol.ledger.identity import is_same, ledger_identity
from routines_app.protocol.upkeep import neighbours
from routines_app.protocol.upkeep.neighbours import mark_prefix
from routines_app.protocol.upkeep.nodes import report_beat
from tests.integration.holding import stranger
from tests.processes import free_port, wait_for

pytestmark = pytest.mark.usefixtures("ledger")

STRANGER = {"database": "shop", "table": "16400", "server": "7", "made": "2026-01-01T00:00:00+00:00"}


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_told", "")


def test_the_first_to_come_marks_the_prefix_and_keeps_it(redis_client: redis.Redis) -> None:
    """For as long as its beats report themselves."""
    assert [mark_prefix(), mark_prefix()] == ["", ""]
    assert json.loads(redis_client.get(key("ledger"))) == ledger_identity()
    assert 100 < redis_client.ttl(key("ledger")) <= 180


def test_a_stranger_is_told_in_log_admin_and_checks_and_leaves_the_mark_alone(
    redis_client: redis.Redis, redis_url: str, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Once in the log; the node carries it for as long as it lasts; and when the stranger is gone, that is said."""
    redis_client.set(key("ledger"), json.dumps(STRANGER))
    for _ in range(3):
        report_beat("project")
    assert [record.levelname for record in caplog.records if "'shop'" in record.message] == ["ERROR"]
    assert "KEY_PREFIX" in Node.objects.get().problems[0]
    assert [message.id for message in checks.check_neighbours()] == ["routines.W014"]
    assert json.loads(redis_client.get(key("ledger"))) == STRANGER

    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": f"redis://127.0.0.1:{free_port()}"}
    report_beat("project")
    assert "KEY_PREFIX" in Node.objects.get().problems[1], "whom nobody can ask is not taken for gone"
    assert "Redis is away" in Node.objects.get().problems[0]

    settings.ROUTINES = settings.ROUTINES | {"REDIS_URL": redis_url}
    redis_client.delete(key("ledger"))
    wait_for(lambda: mark_prefix() == "", 10, "Redis is not asked again")
    report_beat("project")
    assert Node.objects.get().problems == []
    assert checks.check_neighbours() == []
    assert any("alone" in record.message for record in caplog.records)


@pytest.mark.parametrize("mark", ["", "not JSON", "[]", "{}"])
def test_a_mark_that_says_nothing_is_nobodys(redis_client: redis.Redis, mark: str) -> None:
    redis_client.set(key("ledger"), mark)
    assert mark_prefix() == ""


def test_what_only_one_may_read_makes_no_stranger() -> None:
    """A role without rights on the server's id, or another version of the database."""
    ours = ledger_identity()
    assert is_same(ours, ours | {"server": None})
    assert is_same(ours | {"server": None}, ours)
    assert is_same(ours, ours | {"more": "told"})
    assert all(not is_same(ours, ours | {name: "another"}) for name in ours)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only there rights differ")
def test_a_role_without_rights_on_the_server_and_on_djangos_tables_sees_the_same_ledger() -> None:
    """Beats of one project may log in as different roles."""
    ours = ledger_identity()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE narrow")
        cursor.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        cursor.execute("SET LOCAL ROLE narrow")
        theirs = ledger_identity()
        transaction.set_rollback(True)
    assert theirs == ours | {"server": None, "made": None}
    assert is_same(ours, theirs)


@pytest.mark.timeout(60)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="only there a reader waits for a table")
def test_a_beat_does_not_wait_for_djangos_tables() -> None:
    """It reports itself all the same."""
    with stranger() as other:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE django_migrations")
        report_beat("project")
    assert Node.objects.exists()


@pytest.mark.parametrize("wrong", [None, "abc", {"NOPE": 1}], ids=repr)
def test_wrong_settings_are_left_to_their_own_check(settings: Any, wrong: Any) -> None:
    settings.ROUTINES = wrong
    assert checks.check_neighbours() == []


@pytest.fixture
def other_way(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same database by another address."""
    if connection.vendor != "postgresql":
        pytest.skip("the other databases of the tests have one address")
    other = connection.copy()
    other.settings_dict = connection.settings_dict | {"HOST": "localhost", "OPTIONS": {"application_name": "other"}}
    monkeypatch.setattr(identity, "connections", {"default": other})
    yield
    other.close()


def test_another_address_of_the_same_database_is_no_stranger(request: pytest.FixtureRequest) -> None:
    """A pooler, a name in DNS: it is the database that says who it is."""
    ours = ledger_identity()
    assert None not in ours.values()
    request.getfixturevalue("other_way")
    assert ledger_identity() == ours
    assert connections["default"] is not identity.connections["default"]
