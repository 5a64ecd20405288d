"""A ledger over simulated hours: claims at the times a beat would look, on a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app import service
from routines_app.models import Routine
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.ledger import clock

NOTE = "tests.acceptance.tasks.note"


class Hours:
    """Time that passes with a beat looking every few seconds, or without any."""

    def __init__(self) -> None:
        # Run ids carry the real time: the simulated one is ahead of it.
        self.now = datetime.now(UTC).replace(minute=0, second=30, microsecond=0) + timedelta(hours=1)
        self.began = self.now

    def pass_by(self, *, beat: bool = True, every: int = 10, **length: float) -> None:
        end = self.now + timedelta(**length)
        while beat and self.now + timedelta(seconds=every) <= end:
            self.now += timedelta(seconds=every)
            claim_due(self.now)
        self.now = end

    def make(self, name: str = "report", **policies: object) -> Routine:
        return service.create_routine(name, **({"task": NOTE} | policies))  # type: ignore[arg-type]

    def found(self) -> list[str]:
        """What the audit finds, as texts without the routine's name."""
        return [each.what for each in service.audit(self.began - timedelta(days=1), now=self.now).imbalances]


@pytest.fixture
def hours(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Hours:
    hours = Hours()
    monkeypatch.setattr(clock, "now", lambda: hours.now)
    return hours
