"""A second opinion on a cron expression: what croniter, by which most schedulers compute, makes of it.

It is asked where people look, when a schedule is saved, previewed, imported or checked, and it never decides a fire.
Nor can it harm anything: it is asked in a thread of its own, which nobody waits for longer than PATIENCE_SECONDS, what
it raises is no opinion, and while an answer is overdue it is not asked again. Both compute by UTC's clock: what they
do when clocks change differs by rule.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import zip_longest
from threading import Thread

from django.db.models import Count, Min

from routines_app.core.cron import next_fire
from routines_app.core.cron_differences import difference
from routines_app.core.cron_fields import NICKNAMES
from routines_app.core.errors import InvalidValue
from routines_app.core.words import RoutineStatus, TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 0.25  # it usually takes a millisecond or two
COMPARED = 10
SHOWN = 4
MOST_YEARS = 8  # between two fires, or it would look through half a century: leap days around a century have 8
MOST_ANSWERS = 1024  # that are remembered: many routines have the same cron
MOST_CRONS = 1000
CHECK_SECONDS = 2.0

Fires = tuple[datetime, ...]
_answers: dict[tuple[str, datetime], Fires] = {}
_overdue: list[Thread] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What we and croniter make of an expression, from their first difference on."""

    expression: str
    ours: Fires
    theirs: Fires
    reason: str

    def __str__(self) -> str:
        return (
            f"croniter reads {self.expression!r} otherwise: {self.reason}."
            f" By UTC's clock it fires at {_listed(self.ours)}; by croniter at {_listed(self.theirs)}"
        )


def second_opinion(expression: str, now: datetime) -> Disagreement | None:
    """How croniter disagrees about the next fires; None when it does not, cannot read the expression or is too slow."""
    after = now.replace(second=0, microsecond=0)
    theirs = _ask(expression, after)
    try:
        ours = _our_fires(expression, after, len(theirs))
    except InvalidValue:
        return None
    first = next((at for at, pair in enumerate(zip_longest(ours, theirs)) if pair[0] != pair[1]), None)
    if first is None:
        return None
    shown = slice(first, first + SHOWN)
    reason = difference(expression)
    return Disagreement(expression=expression, ours=ours[shown], theirs=theirs[shown], reason=reason)


def tell_second_opinion(routine: Routine, now: datetime) -> None:
    """Log a disagreement about a cron that is being saved: after the commit, when nobody's lock is held."""
    if routine.trigger_kind == TriggerKind.CRON:
        on_commit(partial(_log, routine.name, routine.cron, now))


def tell_second_opinions(routines: Iterable[Routine], now: datetime) -> None:
    """The same for many that are saved at once: each expression is asked about once, and all of them for a moment."""
    names = {routine.cron: routine.name for routine in routines}
    if names:
        on_commit(partial(_log_many, names, now))


def _log_many(names: dict[str, str], now: datetime) -> None:
    until = time.monotonic() + CHECK_SECONDS
    for expression, name in list(names.items())[:MOST_CRONS]:
        if time.monotonic() > until:
            return
        _log(name, expression, now)


def disagreements() -> list[tuple[str, Disagreement]]:
    """What croniter reads otherwise among the stored crons, each with the names of its routines in short."""
    crons = (
        Routine.objects.using(ledger_alias())
        .filter(trigger_kind=TriggerKind.CRON)
        .exclude(status=RoutineStatus.ARCHIVED)
        .values("cron")
        .annotate(name=Min("name"), count=Count("pk"))
        .order_by("cron")
    )
    now, until = clock.now(), time.monotonic() + CHECK_SECONDS
    found: list[tuple[str, Disagreement]] = []
    for row in crons[:MOST_CRONS]:
        if time.monotonic() > until:
            break
        if disagreement := second_opinion(row["cron"], now):
            others = f" and {row['count'] - 1} more" if row["count"] > 1 else ""
            found.append((f"{row['name']}{others}", disagreement))
    return found


def _log(name: str, expression: str, now: datetime) -> None:
    if disagreement := second_opinion(expression, now):
        logger.warning("routine %s: %s", name, disagreement)


def _our_fires(expression: str, after: datetime, count: int) -> Fires:
    found: list[datetime] = []
    fire = next_fire(expression, "UTC", after)
    while fire is not None and len(found) < count:
        found.append(fire)
        fire = next_fire(expression, "UTC", fire)
    return tuple(found)


def _ask(expression: str, after: datetime) -> Fires:
    """Its fires, as many as it finds in time."""
    if (known := _answers.get((expression, after))) is not None:
        return known
    _overdue[:] = [thread for thread in _overdue if thread.is_alive()]
    if _overdue:
        return ()
    with suppress(Exception):  # the first time it takes longer than anybody would wait for an answer
        import croniter  # noqa: F401
    asked = Thread(target=_answer, args=(expression, after), name="routines-second-opinion", daemon=True)
    try:
        asked.start()
        asked.join(PATIENCE_SECONDS)
    except RuntimeError:  # no more threads, or the interpreter is on its way out
        return ()
    if asked.is_alive():
        _overdue.append(asked)
    return _answers.get((expression, after), ())


def _answer(expression: str, after: datetime) -> None:
    if len(_answers) >= MOST_ANSWERS:
        _answers.clear()
    found: list[datetime] = []
    until = time.monotonic() + PATIENCE_SECONDS
    with suppress(BaseException):  # whatever it raises is no opinion
        from croniter import croniter  # not before it is asked: nobody else pays for its start, or for a broken one

        text = NICKNAMES.get(expression.strip().lower(), expression)
        fires = croniter(text, after, second_at_beginning=True, max_years_between_matches=MOST_YEARS)
        while len(found) < COMPARED and time.monotonic() < until:
            found.append(fires.get_next(datetime))
    _answers[expression, after] = tuple(found)


def _listed(fires: Fires) -> str:
    return ", ".join(f"{fire:%Y-%m-%d %H:%M:%S}".removesuffix(":00") for fire in fires)
