"""Is somebody doing the work? Asked by probes, of one host or of the whole fleet.

Liveness is about one host (`here`): its own beat or worker, and nothing that a restart would not mend. It is read from
the sign that the process leaves on its machine, where there is one (`sign.py`); else from the ledger.
Fleet health is about the service: some beat reports itself, some worker takes work, and the work moves (`movement.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import Error

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.masks import masked_line
from routines_app.models import Role
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.timeouts import bounded_reads
from routines_app.protocol.upkeep.nodes import REPORTS_MISSED, gone_after
from routines_app.sign import LEAST_SECONDS, age_of
from routines_app.verbs.deadline import TookTooLong, within
from routines_app.verbs.health.movement import Overdue, overdue_routines, unbegun, unsent
from routines_app.verbs.health.sign import path_of
from routines_app.verbs.health.standing import Standing, in_words, seen_nodes, standing

EVERYBODY = frozenset(Role)


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """What was found, and whether that is healthy."""

    healthy: bool
    why: str
    """One line: who was seen when, or who was not."""
    standings: tuple[Standing, ...] = ()
    """Of each role that was asked about, unless nobody could be asked."""
    overdue: Overdue | None = None
    """None: it was not asked for, or nobody could be asked."""

    def facts(self) -> dict[str, Any]:
        """The same, for programs."""
        nodes = {f"{each.role}s": {"alive": each.alive, "seen_at": each.seen_at} for each in self.standings}
        plan = {} if self.overdue is None else {"overdue": self.overdue.count, "overdue_since": self.overdue.since}
        return {"healthy": self.healthy, "why": self.why, **nodes, **plan}


def health(
    *,
    roles: Collection[Role] = EVERYBODY,
    here: bool = False,
    max_age: timedelta | None = None,
    seconds: float | None = None,
) -> Health:
    """Whether the beats and workers that are asked about do their work. Never raises over a database.

    `max_age` is how old the last sign of life may be (default: three times NODE_SECONDS). With `seconds` the
    answer comes within these, whatever hangs; it is asked for in another thread then. Reads only, in four questions,
    and a few more when something stands still.
    """
    age = _max_age(max_age, roles, here=here)
    if here and (paths := _signs(roles)):
        return _by_signs(paths, age)
    try:
        if seconds is None:
            return _by_ledger(roles, age, here=here)
        return within(seconds, lambda: _by_ledger(roles, age, here=here))
    except Error as error:
        first_line = str(error).strip().partition("\n")[0]
        return Health(healthy=False, why=f"the database could not be asked: {masked_line(first_line)}")
    except TookTooLong as error:
        return Health(healthy=False, why=f"the database could not be asked: {error}")


def _max_age(given: timedelta | None, roles: Collection[Role], *, here: bool) -> timedelta:
    """Of a host it is never too small: a probe that restarts what is well does harm, and one that is refused too."""
    usual = timedelta(seconds=REPORTS_MISSED * get_settings().node_seconds)
    if given is None:
        return usual
    if given <= timedelta(0):
        raise InvalidValue("max_age", given.total_seconds(), said("give more than 0 seconds"))
    if here:
        return max(given, timedelta(seconds=LEAST_SECONDS)) if _signs(roles) else min(max(given, usual), gone_after())
    return _reported(given)


def _reported(given: timedelta) -> timedelta:
    """An age that reports can have: they come every so often, and old ones are taken away."""
    least, most = timedelta(seconds=get_settings().node_seconds), gone_after()
    seconds = {"least": least.total_seconds(), "most": most.total_seconds()}
    if given <= least:
        right = said(
            "give more than {least:g} seconds: beats and workers report themselves every {least:g} s (NODE_SECONDS)",
            **seconds,
        )
        raise InvalidValue("max_age", given.total_seconds(), right)
    if given > most:
        right = said(
            "give at most {most:g} seconds: beats and workers report themselves every {least:g} s (NODE_SECONDS), and"
            " older reports are taken away",
            **seconds,
        )
        raise InvalidValue("max_age", given.total_seconds(), right)
    return given


def _signs(roles: Collection[Role]) -> dict[Role, Path]:
    return {role: path for role in sorted(roles) if (path := path_of(role)) is not None}


def _by_signs(paths: dict[Role, Path], max_age: timedelta) -> Health:
    """No server is asked: what only a database has to do with must not restart anybody."""
    healthy, lines = True, []
    for role, path in paths.items():
        age = age_of(path)
        if age is None:
            healthy = False
            lines.append(f"no {role} has left a sign of life in {path}")
        else:
            healthy = healthy and age <= max_age.total_seconds()
            asked = "" if age <= max_age.total_seconds() else f", more than {in_words(max_age)}"
            lines.append(f"the {role} left its last sign of life {in_words(timedelta(seconds=age))} ago{asked}")
    return Health(healthy=healthy, why="; ".join(lines))


def _by_ledger(roles: Collection[Role], max_age: timedelta, *, here: bool) -> Health:
    now = clock.now()
    overdue, still = None, []
    with bounded_reads():
        nodes = seen_nodes(roles, here=here)
        # Another beat, or a stranger's lock, may be to blame: nothing that a restart of this one would mend.
        if Role.BEAT in roles and not here:
            overdue = overdue_routines(now)
            still.append(unsent(now))
        if Role.WORKER in roles and not here:
            still.append(unbegun(now))
    still = [why for why in still if why]
    found = tuple(standing(role, nodes, now=now, max_age=max_age, here=here) for role in sorted(roles))
    lines = [each.why for each in found] + ([] if overdue is None else [overdue.why]) + still
    moves = not still and (overdue is None or not overdue.is_still)
    return Health(
        healthy=moves and all(each.healthy for each in found), why="; ".join(lines), standings=found, overdue=overdue
    )
