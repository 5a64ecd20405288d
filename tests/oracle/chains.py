"""Chains: attempts count up without a gap, one after another, and end with the first success."""

from __future__ import annotations

from itertools import pairwise

from tests.oracle.facts import History, Run, chains_of
from tests.oracle.verdict import Verdict


def check_chains(history: History, verdict: Verdict) -> None:
    for chain in chains_of(history.runs).values():
        told = f"{history.name}: the chain of {chain[0].id}"
        if [run.attempt for run in chain] != list(range(1, len(chain) + 1)):
            verdict.chains.append(f"{told} has attempts {[run.attempt for run in chain]}")
        for before, after in pairwise(chain):
            if after.retry_of_id != before.id or not goes_on(before):
                verdict.chains.append(f"{told} goes on after {before.status} {before.reason}")
        if chain[-1].budget_used > most_attempts(history, chain[-1]):
            verdict.chains.append(f"{told} used {chain[-1].budget_used} attempts")
        if gives_up_early(history, chain[-1]):
            verdict.lost.append(f"{told} stopped after attempt {chain[-1].attempt}: {chain[-1].reason}")


def most_attempts(history: History, run: Run) -> int:
    """A rotation's member has one; its next one is a later tick's."""
    return 1 if run.rotation_id is not None else int(history.definition["max_attempts"])


def goes_on(run: Run) -> bool:
    return run.status == "FAILED" or (run.status == "CANCELLED" and run.reason == "interrupted")


def gives_up_early(history: History, last: Run) -> bool:
    """A worker's death is always worth another attempt while there are any left."""
    interrupted = last.status == "CANCELLED" and last.reason == "interrupted"
    died = last.status == "FAILED" and last.reason in ("orphaned", "worker_lost", "timeout")
    left = last.budget_used < most_attempts(history, last)
    return history.definition["status"] != "ARCHIVED" and (interrupted or (died and left))


def count(history: History, verdict: Verdict) -> None:
    """What the page tells."""
    for run in history.runs:
        if run.is_scheduled and run.status == "SKIPPED":
            verdict.skipped[run.reason] += run.occurrences
        elif run.is_scheduled:
            verdict.fired += 1
        verdict.retries += run.attempt > 1
        verdict.manual += run.trigger == "manual"
        if run.status != "SKIPPED":
            verdict.ended[f"{run.status} {run.reason}".strip()] += 1
        if run.dispatched_at is not None and is_nobodys_turn(history, run):
            verdict.worst_lateness = max(verdict.worst_lateness, (run.dispatched_at - run.eligible_at).total_seconds())


def is_nobodys_turn(history: History, run: Run) -> bool:
    """Whether nothing but the beats could delay it: no pool, no pause, no run that must end first."""
    waits = history.definition["concurrency_policy"] in ("REPLACE", "QUEUE")
    held = waits or any(change.kind == "paused" for change in history.changes)
    return run.is_scheduled and run.trigger == "schedule" and run.pool_id is None and not held
