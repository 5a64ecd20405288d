"""What tests of claims ask for."""

from __future__ import annotations

import pytest

from routines_app.protocol.publish import outbox


@pytest.fixture
def unsent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would go to the broker on commit, by its run."""
    sent: list[str] = []
    monkeypatch.setattr(outbox, "send", lambda messages, **_: sent.extend(message.run_id for message in messages))
    return sent
