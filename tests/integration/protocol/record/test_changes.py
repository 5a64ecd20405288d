"""The history says what changed, and keeps no secrets for ever."""

from __future__ import annotations

from typing import Any

import pytest

from routines_app import service
from routines_app.masks import MASK
from routines_app.models import ScheduleChange
from tests.integration.conftest import NOTE


@pytest.mark.django_db
def test_the_history_has_no_secrets() -> None:
    """Neither the new one nor the one that it took the place of; that they changed is seen."""
    first: dict[str, Any] = {"token": "hunter2", "n": 1}
    routine = service.create_routine("report", task=NOTE, args=["--pass", "hunter2"], kwargs=first)
    service.update_routine(routine, kwargs={"token": "hunter2-2", "n": 2})
    updated, created = ScheduleChange.objects.order_by("-id")[:2]
    assert (created.after["args"], created.after["kwargs"]) == (["--pass", MASK], {"token": MASK, "n": 1})
    assert updated.before == {"kwargs": {"token": MASK, "n": 1}}
    assert updated.after == {"kwargs": {"token": MASK, "n": 2}}
    routine.refresh_from_db()
    assert routine.kwargs == {"token": "hunter2-2", "n": 2}
