"""Nodes: what beats and workers say of themselves."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from django.utils import timezone

from routines_app.models import Node, Role
from routines_app.protocol.upkeep.nodes import NodeReport, forget_gone, forget_node, report_beat, report_node

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
