"""What a routine's trigger accepts: a cron, an interval, one moment, or none of them. Nothing here writes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.triggers import INSTANT, CronTrigger, OnceTrigger, next_slot
from routines_app.core.words import TriggerKind
from routines_app.models import Routine
from routines_app.protocol.plan.planning import kind_of
from routines_app.verbs.checking import rules
from routines_app.verbs.checking.rules import SECOND, YEAR, Duration, Rule, Word

INTERVAL = Duration(least=SECOND, most=10 * YEAR)
RULES: dict[str, Rule] = {
    "trigger_kind": Word(TriggerKind),
    "cron": rules.cron,
    "interval_ms": INTERVAL,
    "once_at": rules.moment,
}
# What a kind of trigger takes its slots from, and how a caller who asks for the kind gives it.
OWN_FIELD = {
    TriggerKind.CRON: "cron",
    TriggerKind.INTERVAL: "interval_ms",
    TriggerKind.ONCE: "once_at",
    TriggerKind.MANUAL: None,
}
NEEDED = {
    TriggerKind.CRON: said("for CRON, give cron"),
    TriggerKind.INTERVAL: said("for INTERVAL, give every"),
    TriggerKind.ONCE: said("for ONCE, give at"),
    TriggerKind.MANUAL: said("for MANUAL, give none of cron, every and at"),
}
SHORT = {"every": "interval_ms", "at": "once_at"}  # as callers may call them
SPOKEN = {"cron": "cron"} | {field: short for short, field in SHORT.items()}


def with_full_names(values: dict[str, Any]) -> dict[str, Any]:
    """The values under the names of their fields: `every` is the interval, `at` the one moment."""
    given = dict(values)
    for short, field in SHORT.items():
        if short in given:
            value = given.pop(short)
            if given.get(field) is not None and value is not None:
                raise InvalidValue(short, value, said("give {one} or {other}, not both", one=short, other=field))
            given[field] = value if value is not None else given.get(field)
    return given


def clean_trigger(given: dict[str, Any], routine: Routine, values: dict[str, Any]) -> dict[str, Any]:
    """The fields of the trigger as they will be: what is given decides, and replaces the others.

    `values` are the given ones as the caller called them: an error is about what somebody wrote.
    """
    chosen = [(kind, field) for kind, field in OWN_FIELD.items() if field and given.get(field) not in (None, "")]
    if not chosen:
        return _agreeing(given, _kept(given, routine))
    kind, field = chosen[0]
    called = SPOKEN[field] if SPOKEN[field] in values else field
    if len(chosen) > 1:
        one, other = SPOKEN[field], SPOKEN[chosen[1][1]]
        raise InvalidValue(called, given[field], said("give {one} or {other}, not both", one=one, other=other))
    return _agreeing(given, trigger_fields(kind, **{field: RULES[field](called, given[field])}))


def _kept(given: dict[str, Any], routine: Routine) -> dict[str, Any]:
    """Nothing new is given: what the routine has stays, unless it was emptied or MANUAL is asked for."""
    kind = kind_of(routine)
    asked = str(given.get("trigger_kind") or "").upper()
    if OWN_FIELD[kind] in given or asked == TriggerKind.MANUAL:
        return trigger_fields(TriggerKind.MANUAL)
    return trigger_fields(kind, cron=routine.cron, interval_ms=routine.interval_ms, once_at=routine.once_at)


def trigger_fields(
    kind: TriggerKind, *, cron: str = "", interval_ms: int | None = None, once_at: datetime | None = None
) -> dict[str, Any]:
    """All of them, so that those of another kind go."""
    return {"trigger_kind": kind.value, "cron": cron, "interval_ms": interval_ms, "once_at": once_at}


def _agreeing(given: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    if given.get("trigger_kind") in (None, ""):
        return found
    asked = RULES["trigger_kind"]("trigger_kind", given["trigger_kind"])
    if asked != found["trigger_kind"]:
        raise InvalidValue("trigger_kind", given["trigger_kind"], NEEDED[TriggerKind(asked)])
    return found


def check_fires(value: Any) -> None:
    """Refuse a cron or a moment that the schedule's bounds leave no slot of; `value` tells a field."""
    start_at, end_at = value("start_at"), value("end_at")
    if value("trigger_kind") == TriggerKind.CRON and start_at and end_at:
        cron = CronTrigger(expression=value("cron"), timezone=value("timezone"), start_at=start_at, end_at=end_at)
        if next_slot(cron, start_at - INSTANT) is None:
            raise InvalidValue("cron", value("cron"), said("give an expression that fires between start_at and end_at"))
    if value("trigger_kind") == TriggerKind.ONCE:
        once = OnceTrigger(at=value("once_at"), start_at=start_at, end_at=end_at)
        if next_slot(once, once.at - INSTANT) is None:
            raise InvalidValue(
                "once_at",
                once.at,
                said(
                    "give a moment between start_at ({start_at}) and end_at ({end_at})",
                    start_at=start_at,
                    end_at=end_at,
                ),
            )


def refuse_past(once_at: datetime | None, now: datetime, field: str) -> None:
    """Somebody asks for a moment: one that is over would never fire."""
    if once_at is not None and once_at <= now:
        raise InvalidValue(field, once_at, said("give a moment to come: now it is {now}", now=now))
