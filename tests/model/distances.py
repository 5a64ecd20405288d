"""What hints and clamps promise, read off the rows and the history alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from tests.oracle.facts import Change, History, Run, read_histories
from tests.oracle.schedule import moment

COLUMNS = {"hint-interval": "hint_interval", "hint-factor": "hint_factor", "hint-oneshot": "hint_next"}


def check_promises() -> None:
    """Scheduled slots keep the distance that was asked for, and hinted ones lie within the life of a hint."""
    for history in read_histories():
        slots = sorted((run for run in history.scheduled if is_scheduled_slot(run)), key=lambda run: run.scheduled_for)
        for earlier, later in pairwise(slots):
            least = least_distance(history, earlier.scheduled_for, later.scheduled_for)
            assert later.scheduled_for - earlier.scheduled_for >= least, f"{history.name}: {earlier} and {later}"
        for run in slots:
            assert run.source not in COLUMNS or is_within_a_hint(history, run), f"{history.name}: {run} is not hinted"


def is_scheduled_slot(run: Run) -> bool:
    """Planned, and neither caught up nor left out: a slot that fired, or found its routine active."""
    return run.trigger in ("schedule", "hint") and (run.status != "SKIPPED" or run.reason == "overlap")


def least_distance(history: History, earlier: datetime, later: datetime) -> timedelta:
    """The smallest of the minimums that held from the one slot to the other."""
    held, least = [], history.definition["min_interval_ms"]
    for change in reversed(history.changes):
        if "min_interval_ms" not in change.after or change.kind == "created":
            continue
        if change.at <= later:
            held.append(least)
        least = change.before["min_interval_ms"]
        if change.at < earlier:
            break
    else:
        held.append(least)
    return timedelta(milliseconds=min(each or 0 for each in held))


def is_within_a_hint(history: History, run: Run) -> bool:
    """Whether somebody had proposed it before that slot, or for it, and it had not expired by then."""
    column = COLUMNS[run.source]
    hints = [change for change in history.changes if change.kind == "hinted" and f"{column}_expires_at" in change.after]
    return any(begins(change) <= run.scheduled_for <= ends(change, column) for change in hints)


def begins(change: Change) -> datetime:
    """A one-shot may be proposed for a time that is past: the end of a pause is released as of that end."""
    at = moment(change.after.get("hint_next_at"))
    return change.at if at is None else min(change.at, at)


def ends(change: Change, column: str) -> datetime:
    end = moment(change.after[f"{column}_expires_at"])
    assert end is not None
    return end
