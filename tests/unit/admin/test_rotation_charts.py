"""The charts of rotations, as markup."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from routines_app.admin.charts import PhaseStep, Sample, Share, Tick, lines, phase_strip, shares, tick_strip

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def sample(hours: float, stalest: float | None, median: float | None = None) -> Sample:
    return Sample(at=NOON - timedelta(hours=hours), stalest=stalest, median=median, label=f"{hours} hours ago")


def drawn(*samples: Sample, limit: float | None = None) -> str:
    return lines(samples, start=NOON - DAY, end=NOON, zone=UTC, limit=limit)


def test_a_strip_has_a_step_for_each_phase_and_says_them() -> None:
    """In colour and in words."""
    strip = phase_strip([PhaseStep("plan", "done"), PhaseStep("build", "failed"), PhaseStep("check", "later")])
    assert strip.count("<rect") == 3
    assert 'aria-label="plan: done, build: failed, check: to come"' in strip


def test_a_strip_of_twenty_phases_fits() -> None:
    """They share the same room."""
    strip = phase_strip([PhaseStep(f"p{number}", "later") for number in range(20)])
    assert 'viewBox="0 0 96 12"' in strip
    assert 'width="0"' not in strip


def test_a_phase_is_escaped() -> None:
    """People name them."""
    assert "<b>" not in phase_strip([PhaseStep("<b>", "done")])


def test_a_line_is_broken_where_nothing_was_measured() -> None:
    """And a moment that stands alone can be seen."""
    chart = drawn(sample(9, 60.0), sample(6, 120.0), sample(4, None), sample(2, 60.0))
    path = chart.partition("rt-line-stalest")[0].rpartition("d=")[2]
    assert path.count("M") == 2
    assert path.count("L") == 1
    assert "rt-line-median" not in chart


def test_lines_say_themselves_in_words() -> None:
    """For whoever cannot see them."""
    chart = drawn(sample(9, 7200.0, 60.0), sample(6, 3600.0, 30.0))
    assert "stalest: between 1h and 2h, 1h at last; median: between 30 s and 1m, 30 s at last" in chart


def test_the_axis_ends_at_a_length_that_people_name() -> None:
    """Three days and a bit are drawn up to four, and the limit only where it is in sight."""
    chart = drawn(sample(1, 86_400 * 3.2), limit=86_400 * 2.0)
    assert ">4 d</text>" in chart
    assert "rt-limit" in chart
    assert "rt-limit" not in drawn(sample(1, 60.0), limit=86_400.0)


def test_no_samples_are_said() -> None:
    """An empty picture says nothing."""
    assert "Nothing was measured" in drawn()


@pytest.mark.parametrize(("count", "says"), [(0, "No ticks yet"), (1, "The last tick: 1 idle"), (70, "The last 60")])
def test_the_newest_sixty_ticks_are_drawn(count: int, says: str) -> None:
    """And each leads to its run."""
    strip = tick_strip([Tick(outcome="idle", label=f"tick {number}", href=f"/{number}/") for number in range(count)])
    assert says in strip
    assert strip.count("<a ") == min(count, 60)
    assert ('href="/9/"' in strip) is False


def test_shares_draw_what_there_is_and_no_more() -> None:
    """One of very many is seen; what is nothing is not drawn, and nothing at all is no error."""
    bar = shares([Share(kind="owed", label="1 owed", count=1), Share(kind="fresh", label="49,999 fresh", count=49_999)])
    assert 'aria-label="1 owed, 49,999 fresh"' in bar
    assert bar.count("rt-share-") == 2
    assert "rt-share-" not in shares([Share(kind="owed", label="0 owed", count=0)])
