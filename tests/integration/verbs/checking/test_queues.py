"""A queue is a key in Redis: a name that is somebody's own is refused wherever a routine is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery import Celery, current_app
from django.test import Client, override_settings
from kombu import Queue

from routines_app import service
from routines_app.coordination.leases import lease_key
from routines_app.coordination.redis_client import key
from routines_app.models import Routine
from routines_app.verbs.declare import declare_routine
from routines_app.verbs.moving.beat_schedule import read_beat_schedule
from tests.integration.conftest import NOTE

Make = Callable[..., Routine]

TAKEN = [
    "_kombu.binding.celery",
    "_kombu.binding_deadlines",
    "_kombu.binding_permanent.celery",
    "unacked",
    "unacked_index",
    "unacked_mutex",
    "celery-task-meta-0190b1",
    "shop_celery-task-meta-0190b1",
    "celery-taskset-meta-0190b1",
    "chord-unlock-0190b1",
    "celery@web.celery.pidbox",
    "0190b1.reply.celery.pidbox",
    "celeryev.0190b1",
    "celery_delayed_3",
    "amq.gen-x",
    "celery\x06\x163",
    "mails\u200b",
    "ma\u202eils",
    "ma\u00a0ils",
    "ma\u2028ils",
    "ma\tils",
    "\U0001f40d" * 64,  # 256 bytes
    "q" * 201,
]


@contextmanager
def transport(**options: str) -> Iterator[None]:
    """Redis as a project may have named its keys."""
    before = current_app.conf.broker_transport_options
    current_app.conf.broker_transport_options = before | options
    try:
        yield
    finally:
        current_app.conf.broker_transport_options = before


def refused(queue: str) -> str:
    with pytest.raises(service.InvalidValue) as caught:
        service.create_routine("report", task=NOTE, queue=queue)
    assert caught.value.field == "queue"
    return caught.value.expected


@pytest.mark.parametrize("queue", TAKEN)
def test_a_name_that_is_the_brokers_or_celerys_is_refused(make: Make, queue: str) -> None:
    """Or that nobody could tell from another one, or that AMQP has no room for."""
    assert refused(queue).startswith("give ")
    assert not Routine.objects.exists()


@pytest.mark.parametrize("prefix", ["routines:", "shop-routines-", ""])
def test_no_key_of_ours_is_a_queue(make: Make, prefix: str) -> None:
    """Whatever the prefix is, also none: leases, turns, the mark of the prefix."""
    with override_settings(ROUTINES={"KEY_PREFIX": prefix}):
        for mine in (lease_key(7), key("turn"), key("losses"), key("ledger"), key("import", "shop")):
            assert "keys of our own" in refused(mine)
        service.create_routine("mails", task=NOTE, queue="mails")


def test_the_names_are_those_that_the_project_gave_the_broker(make: Make) -> None:
    """kombu puts a prefix before each key, keeps unacknowledged messages elsewhere, and separates priorities."""
    with (
        override_settings(ROUTINES={"KEY_PREFIX": "shop:routines:"}),
        transport(global_keyprefix="shop:", unacked_key="taken", sep="/"),
    ):
        assert "keys of our own" in refused("routines:lease:1")
        assert "the broker's" in refused("taken")
        assert "'/'" in refused("mails/3")
        service.create_routine("mails", task=NOTE, queue="mails")
    with override_settings(ROUTINES={"KEY_PREFIX": "shop:"}), transport(global_keyprefix="shop:"):
        assert "keys of our own" in refused("lease:1")
        service.create_routine("as all queues", task=NOTE, queue="mails")


@pytest.mark.parametrize("queue", ["", "celery", "mails", "shop.mails", "shop:mails", "Post für alle", "default-2"])
def test_other_names_are_taken(make: Make, queue: str) -> None:
    assert make(queue=f" {queue} ").queue == queue


def test_a_project_can_say_which_queues_there_are(make: Make) -> None:
    """A routine that names none goes where task_routes say, whatever that is."""
    make("before", queue="reports")
    with override_settings(ROUTINES={"QUEUES": ["mails", "unacked"]}):
        assert refused("reports") == "give one of ROUTINES['QUEUES'] (mails, unacked), or none"
        assert "the broker's" in refused("unacked")
        make("mails", queue="mails")
        make("routed")
        service.update_routine("before", description="its queue is not touched")
    with override_settings(ROUTINES={"QUEUES": []}):
        assert "which is empty" in refused("mails")


def test_every_way_to_write_a_routine_asks(make: Make, operator: Client) -> None:
    """Editing, the code's declarations, the admin's form."""
    make()
    with pytest.raises(service.InvalidValue, match="queue: 'unacked' is not accepted"):
        service.update_routine("report", queue="unacked")
    with pytest.raises(service.InvalidValue, match="queue: 'unacked' is not accepted"):
        declare_routine("nightly", {"task": NOTE, "queue": "unacked"}, "shop")
    page = operator.post("/admin/routines/routine/add/", {"name": "typed", "task": NOTE, "queue": "unacked"})
    assert "queue" in page.context["adminform"].form.errors
    assert list(Routine.objects.values_list("name", "queue")) == [("report", "")]


@pytest.mark.parametrize(("given", "name"), [("mails", "mails"), (Queue("mails"), "mails"), (None, "")])
def test_an_entry_of_the_beat_schedule_may_name_a_queue_or_be_given_one(given: Any, name: str) -> None:
    """As Celery takes either."""
    app = Celery("shop", set_as_current=False)
    app.conf.beat_schedule = {"nightly": {"task": NOTE, "schedule": 60, "options": {"queue": given}}}
    assert read_beat_schedule(app).fields["nightly"]["queue"] == name
