"""The stack itself: what the fault tests stand on must hold by itself."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.acceptance.conftest import StackFactory
from tests.acceptance.stack import Stack
from tests.acceptance.tasks import note, sleepy


def test_a_worker_of_the_stack_runs_what_the_test_publishes(stack: Stack) -> None:
    """The test process and the worker share the stack's broker, and the body's own log comes back."""
    stack.worker(pool="solo")

    note.delay("here")

    stack.wait_until(lambda: [body for body in stack.bodies() if body.ended], 15, "the task did not run")
    assert [line["args"] for line in stack.body_lines()] == [["here"], ["here"]]


def test_a_killed_worker_leaves_a_body_without_an_end(stack: Stack) -> None:
    """kill9 ends parent and children at once: nothing has a chance to write an end."""
    worker = stack.worker(concurrency=1)
    sleepy.delay(30)
    stack.wait_until(stack.bodies, 15, "the task did not start")

    worker.kill9()

    assert not worker.running
    assert [body.ended for body in stack.bodies()] == [None]


@pytest.mark.parametrize("database", ["postgresql", "sqlite", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def test_the_test_and_its_processes_share_one_database(make_stack: StackFactory, database: str) -> None:
    """What manage.py writes in another process, the test's ORM reads."""
    stack = make_stack(database=database)

    done = stack.manage(
        "shell", "-c", "from django.contrib.auth.models import User as U; U.objects.create(username='x')"
    )

    assert done.returncode == 0, done.stderr
    assert [user.username for user in User.objects.all()] == ["x"]


def test_its_own_postgres_can_be_killed_and_comes_back_with_its_data(make_stack: StackFactory) -> None:
    """While the server is away a question means not yet; afterwards committed rows are there."""
    stack = make_stack(own_postgres=True)
    User.objects.create(username="kept")
    assert stack.postgres is not None

    stack.postgres.kill()
    assert stack.ask(User.objects.exists) is None
    stack.postgres.start()

    assert stack.wait_until(lambda: User.objects.count() == 1, 5, "the row is gone")


def test_the_test_process_gets_its_own_database_back(make_stack: StackFactory) -> None:
    """Tests after a stack work on the database they had before."""
    before = connection.settings_dict["NAME"]
    stack = make_stack(database="sqlite")
    inside = connection.settings_dict["NAME"]

    stack.dispose()

    assert inside != before
    assert connection.settings_dict["NAME"] == before


@pytest.mark.rabbitmq
def test_a_stack_on_rabbitmq_has_a_virtual_host_of_its_own(make_stack: StackFactory) -> None:
    """Messages of one stack cannot reach the workers of another."""
    stack = make_stack(broker="rabbitmq")
    stack.worker(pool="solo")

    note.delay()

    stack.wait_until(stack.bodies, 15, "the task did not run")
