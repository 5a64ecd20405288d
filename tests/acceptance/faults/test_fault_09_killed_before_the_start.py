"""Fault 9: a worker killed between acknowledgement and start: published again within 60 s."""

from __future__ import annotations

import time

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from tests.acceptance.fault import NOTE, Fault, crashes
from tests.acceptance.stack import Stack


@pytest.mark.slow
def test_fault_09_a_message_that_died_with_its_worker_is_published_again(stack: Stack, fault: Fault) -> None:
    """The broker has forgotten the message and nobody is left to hand the run back: the row is enough."""
    doomed = stack.worker(concurrency=1, ROUTINES_CRASH_AT="before-start:SIGSTOP")
    stack.beat()
    run = service.run_now(service.create_routine("unlucky", task=NOTE))
    stack.wait_until(lambda: crashes(stack), 30, "the message was not taken")
    doomed.kill9()
    killed_at = time.monotonic()
    assert RoutineRun.objects.get().status == "PENDING"

    stack.worker()
    stack.wait_until(lambda: RoutineRun.objects.get().status == "SUCCESS", 90, "it was not published again")

    fault.recovered(time.monotonic() - killed_at, 60, "9: a message that died with its worker is published again")
    assert [body.run for body in stack.bodies()] == [str(run.pk)]
    sent = RoutineRun.objects.get().publish_count
    assert sent in (2, 3)  # as a rule 2: a beat's first looks find no message of a run that a worker has in its hands
    story = service.why("unlucky", run.scheduled_for.replace(microsecond=0))
    assert f"sent {sent} times" in str(story), str(story)
    fault.balances(stack, settled=True)
