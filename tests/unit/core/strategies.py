"""What the property tests of the core draw from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from routines_app.core.triggers import CronTrigger, IntervalTrigger

ZONES = (
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Pacific/Apia",
)
EXPRESSIONS = (
    "* * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "0 */2 * * *",
    "30 2 * * *",
    "0,30 0-3 * * *",
    "15 1 * * 0",
    "0 0 1 * MON",
    "0 12 L * *",
    "0 9 * * 5#2",
    "*/20 30 1,2 * * *",
    "*/30 * * * * *",
    "0 0 29 2 *",
    "*/15 22-4 * * FRI-MON",
    "0 9 15W,LW * MON-FRI#1",
    "30 2 L-3 * ?",
)

instants = st.datetimes(datetime(2008, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
seconds = instants.map(lambda moment: moment.replace(microsecond=0))
milliseconds = instants.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))

cron_triggers = st.builds(CronTrigger, expression=st.sampled_from(EXPRESSIONS), timezone=st.sampled_from(ZONES))
interval_triggers = st.builds(IntervalTrigger, interval_ms=st.integers(1_000, 90_000_000), anchor=milliseconds)
triggers = st.one_of(cron_triggers, interval_triggers)


@st.composite
def bounded_triggers(draw: st.DrawFn) -> CronTrigger | IntervalTrigger:
    """A trigger that may have a start, an end or both."""
    trigger = draw(triggers)
    start = draw(st.none() | milliseconds)
    length = draw(st.none() | st.timedeltas(timedelta(0), timedelta(days=800)))
    end = None if length is None else (start or draw(milliseconds)) + length
    if isinstance(trigger, CronTrigger):
        return CronTrigger(expression=trigger.expression, timezone=trigger.timezone, start_at=start, end_at=end)
    return IntervalTrigger(interval_ms=trigger.interval_ms, anchor=trigger.anchor, start_at=start, end_at=end)
