"""Rotations: no tick has fired more than its budget, all that it fired is its own, and nobody was in flight twice."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID

from tests.oracle.facts import History, Run, chains_of
from tests.oracle.verdict import Verdict

CLOCKS = timedelta(seconds=1)  # how far machines' measurements of the database's time are apart


def check_rotations(histories: list[History], now: datetime, verdict: Verdict) -> None:
    ticks = [tick for history in histories for tick in history.ticks]
    if not ticks:
        return
    runs = [run for history in histories for run in history.runs]
    names = {history.definition["id"]: history.name for history in histories}
    rotations = {tick.routine_id for tick in ticks}
    fired = Counter(run.tick for run in runs if run.trigger == "rotation" and run.routine_id != run.rotation_id)
    for tick in ticks:
        told = f"{names[tick.routine_id]}: the tick {tick.id} ({tick.status} {tick.reason})"
        if fired[tick.id] != tick.picked:
            verdict.unexpected.append(f"{told} picked {tick.picked} and has fired {fired[tick.id]}")
        if fired[tick.id] > tick.budget:
            verdict.ceilings.append(f"{told} has fired {fired[tick.id]}, its budget is {tick.budget}")
    known: dict[UUID | None, int] = {tick.id: tick.routine_id for tick in ticks}
    for run in runs:
        if run.trigger == "rotation" and known.get(run.tick) != run.rotation_id:
            verdict.unexpected.append(f"{names[run.routine_id]}: {run.id} was fired by no tick of its rotation's")
    for history in histories:
        if history.definition["rotation_id"] in rotations:
            check_flights(history, now, verdict)


def check_flights(history: History, now: datetime, verdict: Verdict) -> None:
    """A member's chains come one after another, whoever asked for them."""
    flown = [run for run in history.runs if run.rotation_id is not None and run.status != "SKIPPED"]
    flights = sorted((chain for chain in chains_of(flown).values()), key=lambda chain: chain[0].eligible_at)
    for one, other in pairwise(flights):
        if other[0].eligible_at < ended_at(one[-1], now) - CLOCKS:
            verdict.overlaps.append(f"{history.name}: {one[0].id} and {other[0].id} were in flight together")


def ended_at(run: Run, now: datetime) -> datetime:
    return now if run.completed_at is None else run.completed_at
