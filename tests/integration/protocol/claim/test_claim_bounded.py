"""A claim's deciding is bounded."""

from __future__ import annotations

import pytest

from routines_app import service
from routines_app.models import RoutineRun
from routines_app.protocol.claim import claim
from routines_app.protocol.ledger import clock
from tests.integration.protocol.claim.test_claim import TASK, rewind


@pytest.mark.django_db(transaction=True)
def test_a_claim_that_decides_too_long_leaves_the_rest_and_still_moves_on(monkeypatch):
    """However slow deciding is, each claim writes something and says that more is left."""
    monkeypatch.setattr(claim, "DECIDE_SECONDS", -1.0)
    for name in ("a", "b", "c"):
        service.create_routine(name, task=TASK, every="10s")
        rewind(name, seconds=10)

    reports = [claim.claim_due(clock.now()) for _ in range(4)]

    assert [(report.claimed, report.left) for report in reports] == [(1, True), (1, True), (1, False), (0, False)]
    assert RoutineRun.objects.count() == 3
