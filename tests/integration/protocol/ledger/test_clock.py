"""The ledger's time when the database cannot be asked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from routines_app.protocol.ledger import clock

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_broken_transaction_does_not_forget_the_offset(monkeypatch: pytest.MonkeyPatch):
    """Nothing may be asked in it; the offset that was measured before is still the best there is."""
    measured = clock.Clock()
    monkeypatch.setattr(measured, "_offset", timedelta(minutes=5))
    with transaction.atomic():
        connection.set_rollback(True)
        ahead = measured.now() - datetime.now(UTC)
    assert timedelta(minutes=4) < ahead < timedelta(minutes=6)
