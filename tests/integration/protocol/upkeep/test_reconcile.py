"""The pass of the upkeep as a whole."""

from __future__ import annotations

import pytest

from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.cancel_statements import leaving
from routines_app.protocol.upkeep import reconcile
from routines_app.protocol.upkeep.orphans import Observer


@pytest.mark.usefixtures("ledger")
def test_who_leaves_begins_no_further_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is cancelled is the statement that runs then: one that began after it would be left behind, waiting."""
    begun: list[str] = []

    def parked(_now: object) -> int:
        begun.append("parked")
        leaving.set()
        return 1

    monkeypatch.setattr(reconcile, "park_unplanned", parked)
    monkeypatch.setattr(reconcile, "cancel_unreadable", lambda _now: begun.append("cancelled") or 1)
    try:
        report = reconcile.reconcile_once(clock.now(), Observer(), 0.0)
    finally:
        leaving.clear()
    assert (begun, report.parked, report.cancelled) == (["parked"], 1, 0)
