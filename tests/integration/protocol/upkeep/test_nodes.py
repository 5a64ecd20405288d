"""Nodes: what beats and workers say of themselves."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from django.utils import timezone

from routines_app.models import Node, NodeLifetime, Role
from routines_app.protocol.upkeep import lifetimes
from routines_app.protocol.upkeep.nodes import NodeReport, forget_gone, forget_node, report_beat, report_node
from tests.integration.conftest import MONDAY, Time

pytestmark = pytest.mark.usefixtures("ledger", "short_lived_threads")


def test_a_node_reports_itself_and_is_gone_after_three_silent_minutes() -> None:
    report = NodeReport(role=Role.WORKER, queues=["b", "a"], tasks=["t"], running_runs=2)
    report_node(report)
    report_node(NodeReport(role=Role.WORKER, queues=["b", "a"], draining=True))
    node = Node.objects.get()
    assert (node.pid, node.queues, node.draining, node.running_runs) == (os.getpid(), ["a", "b"], True, 0)
    assert node.memory_bytes is not None
    assert "celery" in node.versions
    assert forget_gone(timezone.now() + timedelta(minutes=2)) == 0
    assert forget_gone(timezone.now() + timedelta(minutes=4)) == 1
    report_beat("project")
    assert Node.objects.get().declares == "project"
    forget_node(NodeReport(role=Role.BEAT))
    assert not Node.objects.exists()


def test_a_lifetime_goes_on_ends_in_order_or_falls_silent_and_is_kept_for_a_month(
    time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's row goes with the process; another process of the same name, and a silence, begin another one."""
    report = NodeReport(role=Role.WORKER, queues=["celery"])
    for _ in range(3):
        report_node(report)
        time.pass_by(minutes=1)
    (first,) = NodeLifetime.objects.all()
    assert (first.started_at, first.seen_at, first.queues) == (MONDAY, MONDAY + timedelta(minutes=2), ["celery"])
    time.pass_by(minutes=5)
    report_node(report)  # it was frozen
    time.pass_by(minutes=1)
    forget_node(report)
    monkeypatch.setattr(lifetimes, "_own", {})  # its container has started again, with the same pid
    report_node(report)

    silent, ended, living = NodeLifetime.objects.order_by("pk")
    assert (silent.ended_at, ended.ended_at, living.ended_at) == (None, MONDAY + timedelta(minutes=9), None)
    assert (ended.started_at, living.started_at) == (MONDAY + timedelta(minutes=8), MONDAY + timedelta(minutes=9))
    assert lifetimes.forget_old(time.now + timedelta(days=29)) == 0
    assert lifetimes.forget_old(MONDAY + timedelta(days=30, minutes=5)) == 1
    assert not NodeLifetime.objects.filter(pk=silent.pk).exists()
