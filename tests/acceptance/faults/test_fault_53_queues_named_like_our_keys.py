"""Fault 53: queues are named like keys of ours, in the Redis that the broker shares with leases and turns."""

from __future__ import annotations

import time

from routines_app import service
from routines_app.coordination.leases import lease_key
from routines_app.coordination.redis_client import key
from routines_app.models import Routine, RoutineRun
from tests.acceptance.fault import NOTE, Fault
from tests.acceptance.stack import Stack


def test_fault_53_queues_named_like_our_keys(stack: Stack, fault: Fault) -> None:
    """What was pushed before is taken back; rows written by SQL push nothing more, and say why."""
    victim = service.create_routine("victim", task=NOTE, every="1s", concurrency_policy="FORBID")
    taken = [lease_key(victim.pk), key("turn"), key("ledger")]
    for number, name in enumerate(taken):
        service.create_routine(f"bad-{number}", task=NOTE, every="1s", priority="HIGH")
        Routine.objects.filter(name=f"bad-{number}").update(queue=name)
        stack.redis.client().lpush(name, "what an older release has pushed")
    stack.worker(concurrency=1)
    began = time.time()
    beat = stack.beat()

    done = RoutineRun.objects.filter(routine=victim, status="SUCCESS")
    stack.wait_until(lambda: done.count() > 2, 30, "the exclusive routine does not run")
    kinds = stack.redis.client()
    stack.wait_until(lambda: kinds.type(taken[1]) != b"list", 30, "no beat has the turn")
    fault.recovered(time.time() - began, 30, "53: leases and turns are taken back")

    refused = RoutineRun.objects.filter(routine__name__startswith="bad", reason="publish_failed")
    stack.wait_until(lambda: refused.values("routine").distinct().count() == 3, 30, "they were not set aside")
    assert all("is not accepted" in error for error in refused.values_list("error", flat=True))
    assert not [name for name in taken if kinds.type(name) == b"list"]
    assert beat.log().count(f"the key {taken[1]} was a list") == 1
    # The slots after it may not be claimed yet.
    last = min(routine.runs.latest("scheduled_for").scheduled_for for routine in Routine.objects.all())
    fault.balances(stack, until=last)
