"""Coverage: each slot that the schedule expects is in exactly one row, or in exactly one counted span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from tests.oracle.facts import HINTED, UNPLANNED, History, Run
from tests.oracle.schedule import INSTANT, Segment, interval_slots, moment, segments
from tests.oracle.verdict import Verdict

ACCOUNTED = frozenset({"baseline-cron", "baseline-interval", "baseline-once", "ended", "archived", "manual"})


def check_coverage(history: History, until: datetime, verdict: Verdict) -> None:
    """Recompute what crons, moments and plain intervals expect; of other intervals, check each span's arithmetic."""
    for segment in segments(history, accounted_until(history, until)):
        if segment.is_exact:
            check_slots(history, segment, Segment.slots, verdict)
        elif is_plain_interval(history):
            check_slots(history, segment, partial(plain_slots, history), verdict)
        else:
            verdict.expected += sum(run.occurrences for run in within(history.scheduled, segment))
    for run in history.scheduled:
        check_span(history, run, verdict)


def accounted_until(history: History, until: datetime) -> datetime:
    """What a pause, a parking, a catch-up, a hint or a clamp holds up comes into the ledger with the next claim."""
    state = history.state
    paced = any(end > until for end in pace_ends(history))
    if state["next_source"] in ACCOUNTED and not paced:
        return min(until, unplanned_since(history) or until)
    return min(until, reached(history))


def unplanned_since(history: History) -> datetime | None:
    """When somebody left nothing to plan before the schedule's end: a clamp or a hint goes past the rest, and the next
    change writes down what has passed by then."""
    last = next((change for change in reversed(history.changes) if change.kind not in UNPLANNED), None)
    if history.state["next_source"] != "ended" or last is None or last.next_slot is not None:
        return None
    went_past = history.definition["min_interval_ms"] or any(
        change.kind == "hint_expired" and change.after.get("next_source") == "ended" for change in history.changes
    )
    return max(last.at, reached(history)) if went_past else None


def reached(history: History) -> datetime:
    last: datetime = history.state["last_slot"] or history.definition["created_at"]
    return last


def pace_ends(history: History) -> list[datetime]:
    """When the hints about the pace that are stored end, or have ended."""
    ends = [history.state["hint_interval_expires_at"], history.state["hint_factor_expires_at"]]
    return [end for end in ends if end is not None]


def is_held_by_a_hint(history: History, slot: datetime) -> bool:
    """A pace that is over has held it up, and a claim is still to come that writes it down."""
    if not history.state["next_source"].startswith("baseline"):
        return False
    return reached(history) < slot <= max(pace_ends(history), default=slot - INSTANT)


def check_slots(
    history: History, segment: Segment, slots_of: Callable[[Segment], list[datetime]], verdict: Verdict
) -> None:
    slots = slots_of(segment)
    if segment.replanned_blindly:
        slots = slots[: bisect_right(slots, last_row_of(history, segment))]
    verdict.expected += len(slots)
    rows = within(history.scheduled, segment)
    singles = {run.scheduled_for: run for run in rows if run.occurrences == 1}
    spans = [run for run in rows if run.occurrences > 1]
    for slot in slots:
        covering = [run for run in spans if run.scheduled_for <= slot <= run.last]
        covering += [singles[slot]] if slot in singles else []
        if not covering and not is_held_by_a_hint(history, slot):
            verdict.lost.append(f"{history.name}: {slot} has no row")
        elif len([run for run in covering if run.source not in HINTED or run.status == "SKIPPED"]) > 1:
            verdict.duplicates.append(f"{history.name}: {slot} is in {len(covering)} rows")
    expected = set(slots)
    for run in rows:
        if run.source not in HINTED and run.scheduled_for not in expected and run.scheduled_for <= segment.until:
            verdict.unexpected.append(f"{history.name}: {run.scheduled_for} is no slot of its schedule")
    # A claim after the end of what is judged counts the slots before it and after it in one row.
    reach = max((span.last for span in spans), default=segment.until)
    if reach > segment.until:
        slots = slots_of(replace(segment, until=reach))
    for span in spans:
        inside = bisect_right(slots, span.last) - bisect_left(slots, span.scheduled_for)
        if inside != span.occurrences:
            verdict.unexpected.append(
                f"{history.name}: {span.scheduled_for} to {span.last} says {span.occurrences} slots, there are {inside}"
            )


def last_row_of(history: History, segment: Segment) -> datetime:
    return max((run.last for run in within(history.scheduled, segment)), default=segment.after)


def within(runs: list[Run], segment: Segment) -> list[Run]:
    return [run for run in runs if segment.after < run.scheduled_for <= segment.until]


def is_plain_interval(history: History) -> bool:
    """Nothing but its interval ever decided when it fires: no edit, hint, clamp or back-off."""
    definition = history.definition
    kinds = {change.kind for change in history.changes} - {"paused", "resumed", "archived"}
    clamped = definition["min_interval_ms"] or definition["max_interval_ms"]
    failed = any(run.status == "FAILED" for run in history.runs)
    return definition["trigger_kind"] == "INTERVAL" and kinds <= {"created"} and not clamped and not failed


def plain_slots(history: History, segment: Segment) -> list[datetime]:
    after, until = segment.bounds()
    anchor = moment(segment.fields["start_at"]) or history.definition["created_at"]
    return interval_slots(anchor, segment.fields["interval_ms"], after, until)


def check_span(history: History, run: Run, verdict: Verdict) -> None:
    """A row for many slots is a skip; a row for one has no other end."""
    if run.occurrences == 1 and run.scheduled_until not in (None, run.scheduled_for):
        verdict.unexpected.append(f"{history.name}: {run.scheduled_for} is one slot and ends at {run.scheduled_until}")
    if run.occurrences > 1 and (run.status != "SKIPPED" or run.last <= run.scheduled_for):
        verdict.unexpected.append(
            f"{history.name}: {run.scheduled_for} stands for {run.occurrences} and is {run.status}"
        )
