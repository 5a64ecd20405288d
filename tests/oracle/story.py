"""The story of a routine that a verdict names: its changes and the rows of its slots, to find the reason in."""

from __future__ import annotations

from tests.oracle.facts import History, read_histories
from tests.oracle.verdict import Verdict

MOST_TOLD = 3


def stories(verdict: Verdict) -> str:
    """What the ledger says of the first few routines in which something is wrong."""
    named = {text.partition(":")[0] for texts in verdict.faults.values() for text in texts}
    found = [history for history in read_histories() if history.name in named]
    return "\n".join(line for history in found[:MOST_TOLD] for line in story(history))


def story(history: History) -> list[str]:
    """Changes and rows, each kind in the order of writing."""
    return [
        f"{history.name}: {dict(history.definition)}",
        f"  state {dict(history.state)}",
        *(
            f"  change {change.id} at {change.at} {change.kind} by {change.actor!r} plans {change.next_slot}"
            f" before {change.before} after {change.after}"
            for change in history.changes
        ),
        *(
            f"  row {run.scheduled_for} to {run.last} ({run.occurrences}) {run.status} {run.reason} {run.trigger}"
            f" {run.source} plans {run.next_planned_for}, sent {run.dispatched_at}, ended {run.completed_at}, {run.id}"
            for run in history.scheduled
        ),
    ]
