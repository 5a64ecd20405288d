"""QUEUE's line: at most one slot waits, the newest; older ones gave way to it, and none was skipped for overlap."""

from __future__ import annotations

from tests.oracle.facts import History, Run
from tests.oracle.verdict import Verdict

SLOTS = frozenset({"schedule", "catch_up", "hint"})


def check_line(history: History, verdict: Verdict) -> None:
    """Of a routine that has been QUEUE all the time: what another policy has left in line is that one's affair."""
    if history.definition["concurrency_policy"] != "QUEUE" or was_another(history):
        return
    waiting = [run for run in history.runs if waits(run)]
    if len(waiting) > 1:
        verdict.unexpected.append(f"{history.name}: {', '.join(str(run.scheduled_for) for run in waiting)} all wait")
    newest = max((run.scheduled_for for run in history.runs if run.trigger in SLOTS), default=None)
    for run in history.runs:
        if run.status == "SKIPPED" and run.reason == "overlap":
            verdict.unexpected.append(f"{history.name}: {run.scheduled_for} was skipped, and should have waited")
        if gave_way(history, run) and run.scheduled_for == newest:
            verdict.lost.append(f"{history.name}: {run.scheduled_for} gave way, and there is no newer slot")


def was_another(history: History) -> bool:
    return any("concurrency_policy" in change.after for change in history.changes if change.kind != "created")


def waits(run: Run) -> bool:
    held = run.status == "PENDING" and run.reason == "overlap" and run.dispatched_at is None
    return held and run.trigger in SLOTS


def gave_way(history: History, run: Run) -> bool:
    """A row for one slot that no edit of the schedule has taken away."""
    edited = any(change.kind not in ("created", "paused", "resumed") for change in history.changes)
    return run.reason == "superseded" and run.occurrences == 1 and not edited
