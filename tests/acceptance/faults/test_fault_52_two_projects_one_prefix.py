"""Fault 52: two projects share a Redis and a key prefix: the second one's beats say so, and both go on."""

from __future__ import annotations

from routines_app import service
from routines_app.models import Node, RoutineRun
from tests.acceptance.conftest import StackFactory
from tests.acceptance.fault import NOTE, Fault, ready_beats

OURS = "same:"


def test_fault_52_the_second_project_under_a_prefix_says_so(make_stack: StackFactory, fault: Fault) -> None:
    """Two beats of the first project are one project; the second one is told apart by its database, and runs."""
    first = make_stack(settings={"ROUTINES": {"KEY_PREFIX": OURS}})
    beats = [first.beat(), first.beat()]
    ready_beats(first, 2)
    assert [node.problems for node in Node.objects.all()] == [[], []]

    shared = {"REDIS_URL": first.redis.url(), "KEY_PREFIX": OURS}
    second = make_stack(settings={"ROUTINES": shared | {"NODE_SECONDS": 1}})
    second.worker(concurrency=1)
    beat = second.beat()
    ready_beats(second, 1)
    service.create_routine("alone", task=NOTE, every="1s", concurrency_policy="FORBID")
    (node,) = Node.objects.filter(role="beat")
    assert OURS in node.problems[0]
    assert first.name in node.problems[0], "it says who the other one is"
    done = RoutineRun.objects.filter(status="SUCCESS")
    second.wait_until(lambda: done.count() > 1, 30, "it was stopped")
    assert beat.log().count("another project") == 1
    assert not any("another project" in one.log() for one in beats)
    fault.balances(second)
