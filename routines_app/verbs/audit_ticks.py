"""Ticks: each has fired whom it says that it picked, and not more than its budget and what was in flight allowed.

That a rotation's ticks are those of its trigger is asked like of every routine (`audit_slots.py`, `audit_thread.py`).
Of what a tick fires the link is on the run; a tick says on its own row what it saw and whom it picked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from routines_app.core.words import RoutineStatus, RunStatus, RunTrigger
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.audit_reading import Row

Fired = tuple[int, str]
"""A member's routine and a phase's name."""


class Tick(NamedTuple):
    """A tick's row as the ledger has it now, and what it has fired."""

    status: str
    reason: str
    saw: Any
    fired: Counter[Fired]


def check_ticks(rows: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """What is wrong with these ticks of one rotation, one sentence for each."""
    found = dict(_wrong(rows))
    # Between reading a tick and its runs a seeding may have let it pick more: what was wrong twice is wrong.
    again = dict(_wrong([row for row in rows if row.id in found])) if found else {}
    yield from ((row, again[row.id]) for row in rows if row.id in again)


def _wrong(rows: Sequence[Row]) -> Iterator[tuple[UUID, str]]:
    ticks = _read(rows)
    gone = _gone(ticks.values())
    for tick_id, tick in ticks.items():
        if (what := _judge(tick, gone)) is not None:
            yield tick_id, what


def _read(rows: Sequence[Row]) -> dict[UUID, Tick]:
    runs = RoutineRun.objects.using(ledger_alias())
    ids = [row.id for row in rows]
    fired: dict[UUID | None, Counter[Fired]] = defaultdict(Counter)
    # Seedings are no member's. Later attempts of a chain have the trigger `retry` and cost no budget.
    members = runs.filter(tick__in=ids, trigger=RunTrigger.ROTATION).exclude(routine_id=rows[0].routine_id)
    for tick_id, routine_id, phase in members.values_list("tick", "routine_id", "phase").iterator():
        fired[tick_id][routine_id, phase] += 1
    ticks = runs.filter(pk__in=ids).values_list("pk", "status", "reason", "result")
    return {tick_id: Tick(status, reason, saw, fired[tick_id]) for tick_id, status, reason, saw in ticks.iterator()}


def _gone(ticks: Any) -> frozenset[int]:
    """Routines that were picked and are deleted by now, or archived and perhaps about to be: their runs may be gone."""
    named = {routine_id for tick in ticks for routine_id, _ in (_picked(tick) or ())}
    routines = Routine.objects.using(ledger_alias()).filter(pk__in=named).exclude(status=RoutineStatus.ARCHIVED)
    return frozenset(named - set(routines.values_list("pk", flat=True)))


def _judge(tick: Tick, gone: frozenset[int]) -> str | None:
    fired = tick.fired.total()
    if tick.status != RunStatus.SUCCESS:
        return f"is a tick that picked nobody ({tick.reason or tick.status}), and has fired {fired}" if fired else None
    picked = _picked(tick)
    if picked is None:
        return "is a tick that picked, and does not say whom"
    missing = [pick for pick in picked - tick.fired if pick[0] not in gone]
    for routine_id, phase in missing:
        return f"is a tick that picked {_name(tick, routine_id)}{_phase(phase)}, and there is no run of it"
    for routine_id, phase in tick.fired - picked:
        return f"is a tick that has fired routine {routine_id}{_phase(phase)}, and did not pick it"
    adopted = tick.saw.get("adopted")
    return _over(tick.saw, picked.total() + (len(adopted) if isinstance(adopted, list) else 0))


def _over(saw: Mapping[str, Any], picked: int) -> str | None:
    if picked > saw["budget"]:
        return f"is a tick that picked {picked}, and its budget was {saw['budget']}"
    if picked + saw["in_flight"] > saw["max_in_flight"]:
        return (
            f"is a tick that picked {picked} beside {saw['in_flight']} in flight,"
            f" and at most {saw['max_in_flight']} were allowed"
        )
    return None


def _picked(tick: Tick) -> Counter[Fired] | None:
    """None: its result is not what a tick writes down."""
    saw = tick.saw
    if tick.status != RunStatus.SUCCESS:
        return Counter()
    try:
        if not all(isinstance(saw[count], int) for count in ("budget", "in_flight", "max_in_flight")):
            return None
        return Counter((int(pick["routine"]), str(pick["phase"])) for pick in saw["picked"])
    except (KeyError, TypeError, ValueError):
        return None


def _name(tick: Tick, routine_id: int) -> str:
    names = [pick.get("name") for pick in tick.saw["picked"] if pick["routine"] == routine_id]
    return repr(names[0]) if names and names[0] else f"routine {routine_id}"


def _phase(phase: str) -> str:
    return f" ({phase})" if phase else ""
