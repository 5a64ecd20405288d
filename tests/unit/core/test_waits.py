"""What a run has waited for, as a text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app.core.waits import LONGEST, WIDTH, Wait, entry, first_wait, read_waits
from routines_app.core.words import Reason

NOW = datetime(2026, 11, 17, 3, 0, 0, 123_000, tzinfo=UTC)


def test_what_is_written_is_read_back() -> None:
    later = NOW + timedelta(minutes=1)
    text = entry(Reason.CEILING, NOW) + entry(Reason.PUBLISH_FAILED, later)
    assert read_waits(text) == [Wait("ceiling", NOW, NOW), Wait("publish_failed", later, later)]


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_fits(reason: Reason) -> None:
    """Those that say nothing beside the row's own moments are left out."""
    text = first_wait(reason, NOW)
    assert (text is None) == (reason in (Reason.NONE, Reason.NOT_YET))
    assert text is None or (len(text) == WIDTH and [wait.reason for wait in read_waits(text)] == [reason])


@pytest.mark.parametrize("text", [None, "", "spoiled", "x" * WIDTH, "é" * 3 * WIDTH, entry(Reason.PAUSED, NOW)[:-1]])
def test_what_plain_sql_has_spoiled_is_left_out(text: str | None) -> None:
    assert read_waits(text) == []


def test_no_more_is_read_than_is_ever_written() -> None:
    assert len(read_waits(entry(Reason.PAUSED, NOW) * 1000)) == LONGEST // WIDTH
