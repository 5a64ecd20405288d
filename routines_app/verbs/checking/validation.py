"""What a routine accepts: one rule per field, then the rules between fields. Nothing here writes."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from django.utils.timezone import get_default_timezone_name

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import TRIGGER_FIELDS, CatchUpPolicy, ConcurrencyPolicy, Priority, TriggerKind
from routines_app.models import Routine
from routines_app.verbs.checking import arguments, rules
from routines_app.verbs.checking.known_tasks import any_task, known_task
from routines_app.verbs.checking.lookup import find_pool, find_rotation, find_routine
from routines_app.verbs.checking.membership import is_rotation, membership, refuse_on_rotation
from routines_app.verbs.checking.message_options import message_options
from routines_app.verbs.checking.names import Label, Name
from routines_app.verbs.checking.phases import any_phases, known_phases
from routines_app.verbs.checking.queues import queue
from routines_app.verbs.checking.rules import (
    DAY,
    SECOND,
    YEAR,
    Duration,
    Integer,
    ListOf,
    Maybe,
    Number,
    Rule,
    Text,
    Word,
)
from routines_app.verbs.checking.triggers import (
    INTERVAL,
    RULES,
    SHORT,
    check_fires,
    clean_trigger,
    with_full_names,
)

EXPONENT_FROM = 1e16  # Python writes larger ones with an exponent
RETRY_DELAY = Duration(least=0, most=30 * DAY)

FIELDS: dict[str, Rule] = {
    "name": Name(longest=200),
    "description": Text(longest=10_000, lines=True),
    "tags": ListOf(Label(longest=100, required=True)),
    "group": Label(longest=100),
    "task": known_task,
    "args": arguments.positional,
    "kwargs": arguments.named,
    "queue": queue,
    "options": Maybe(message_options),
    **RULES,
    "timezone": rules.timezone,
    "start_at": Maybe(rules.moment),
    "end_at": Maybe(rules.moment),
    "jitter_ms": Duration(least=0, most=DAY),
    "priority": Word(Priority),
    "emphasis": Number(least=0, most=100),
    "parent": Maybe(lambda field, value: find_routine(value, field=field)),
    "concurrency_policy": Word(ConcurrencyPolicy),
    "pool": Maybe(lambda field, value: find_pool(value, field=field)),
    "catch_up_policy": Word(CatchUpPolicy),
    "misfire_grace_ms": Duration(least=0, most=10 * YEAR),
    "catch_up_window_ms": Maybe(Duration(least=SECOND, most=10 * YEAR)),
    "catch_up_limit": Maybe(Integer(least=1, most=1_000_000)),
    "timeout_ms": Maybe(Duration(least=SECOND, most=DAY, or_none=True)),
    "expires_ms": Maybe(Duration(least=SECOND, most=YEAR)),
    "max_attempts": Integer(least=1, most=1_000),
    "retry_delay_ms": RETRY_DELAY,
    "retry_max_delay_ms": RETRY_DELAY,
    "retry_jitter": Number(least=0, most=1),
    "retry_for": ListOf(rules.exception_name),
    "no_retry_for": ListOf(rules.exception_name),
    "park_after": Maybe(Integer(least=1, most=1_000)),
    "min_interval_ms": Maybe(INTERVAL),
    "max_interval_ms": Maybe(INTERVAL),
    "keep_result": rules.flag,
    "rotation": Maybe(lambda field, value: find_rotation(value, field=field)),
    "phases": known_phases,
}
ANYWHERE: dict[str, Rule] = {"task": any_task, "phases": any_phases}  # where a task may be known elsewhere
# What a row may have from a time when there were fewer rules for it, or a task that is known elsewhere: left as it is,
# it is not looked at again.
NAMES = ("name", "tags", "group", "task")
# What moves slots: a change of one of these makes a new plan.
SCHEDULE_FIELDS = frozenset({*TRIGGER_FIELDS, "timezone", "start_at", "end_at", "min_interval_ms", "max_interval_ms"})
# Fields that have a rule between them: one may be refused because of what another is.
RULED_TOGETHER = (
    frozenset({"retry_delay_ms", "retry_max_delay_ms"}),
    frozenset({"min_interval_ms", "max_interval_ms"}),
    frozenset({*TRIGGER_FIELDS, "timezone", "start_at", "end_at"}),
    frozenset({*SCHEDULE_FIELDS, "rotation", "phases"}),
)
# What only code says about a routine that is declared in code: by its name code knows it, and it is of that task.
DECLARED_FIELDS = frozenset({"name", "task"})
OTHER_VERBS = {
    "status": said("use pause_routine, resume_routine, archive_routine or reset_routine"),
    "paused_until": said("use pause_routine(routine, until=…)"),
    "pause_reason": said("use pause_routine(routine, reason=…)"),
    "pause_batch": said("use pause_batch(name, …)"),
    "declared_in": said("it says where the routine comes from and cannot be changed"),
    "depth": said("it follows from parent"),
    "shadow": said("use switch_over"),
}


def clean_new(
    values: dict[str, Any], *, allow_unknown_task: bool = False, found: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Every field of a new routine, checked. `found`: its pool and the like, of a caller who has looked up many."""
    given, unsaid = _by_field(values), Routine()
    trigger = clean_trigger(given, unsaid, values)
    cleaned = _each_checked(given, allow_unknown_task) | trigger | (found or {})
    cleaned.setdefault("timezone", default_timezone())
    cleaned |= membership(cleaned, unsaid)
    _check_together(cleaned, unsaid)
    return cleaned


def clean_changes(
    routine: Routine,
    values: dict[str, Any],
    *,
    allow_unknown_task: bool = False,
    found: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The given fields, checked against the routine as it is; only those that change it. `found` as in `clean_new`."""
    given = {name: value for name, value in _by_field(values).items() if not _is_kept_name(routine, name, value)}
    trigger = clean_trigger(given, routine, values)
    cleaned = _each_checked(given, allow_unknown_task) | trigger | (found or {})
    if routine.shadow and cleaned["trigger_kind"] == TriggerKind.MANUAL:
        # By hand it is refused as well; and a rotation, which takes those, would fire it beside the old scheduler.
        expected = said(
            "in shadow: {fired_by} still fires it; use switch_over first, or archive it", fired_by=routine.fired_by
        )
        raise NotAllowed("trigger_kind", TriggerKind.MANUAL, expected)
    if is_rotation(routine):
        refuse_on_rotation(cleaned)
    else:
        cleaned |= membership(cleaned, routine)
    changes = {field: value for field, value in cleaned.items() if not is_same(getattr(routine, field), value)}
    if changes:
        _check_together(cleaned, routine)
    return changes


def clean_value(field: str, value: Any, *, allow_unknown_task: bool = False) -> Any:
    """One value as a routine would store it: for forms, which say at each field what is wrong with it."""
    if field not in FIELDS:
        raise rules.unknown_field(field, value, list(FIELDS))
    return _rule_of(field, allow_unknown_task)(field, value)


def refuse_declared(routine: Routine, changes: dict[str, Any]) -> None:
    """A routine that is declared in code has its name and its task from there."""
    for field in sorted(DECLARED_FIELDS & changes.keys()):
        raise NotAllowed(
            field,
            changes[field],
            said(
                "{routine} is declared in {declared_by}: change it there",
                routine=routine.name,
                declared_by=routine.declared_by,
            ),
        )


def default_timezone() -> str:
    """The timezone of a routine that names none."""
    return get_settings().default_timezone or get_default_timezone_name()


def _by_field(values: dict[str, Any]) -> dict[str, Any]:
    given = with_full_names(values)
    for field, value in given.items():
        if field in OTHER_VERBS:
            raise InvalidValue(field, value, OTHER_VERBS[field])
        if field not in FIELDS:
            raise rules.unknown_field(field, value, [*FIELDS, *SHORT])
    return given


def _is_kept_name(routine: Routine, field: str, value: Any) -> bool:
    return field in NAMES and bool(value == getattr(routine, field))


def is_same(old: Any, new: Any) -> bool:
    """Python calls 1, 1.0 and True equal; stored as JSON they differ."""
    if isinstance(old, list | dict) and (old or new):
        try:
            return json.dumps(_numbered(old), sort_keys=True) == json.dumps(_numbered(new), sort_keys=True)
        except TypeError:  # no JSON, so it is not what is stored
            return False
    return bool(old == new)


def _numbered(value: Any) -> Any:
    """With large numbers as PostgreSQL gives them back: it writes 1e20 without an exponent, and then it is whole."""
    if isinstance(value, dict):
        return {key: _numbered(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(item) for item in value]
    if isinstance(value, float) and EXPONENT_FROM <= abs(value) < float("inf"):
        return int(Decimal(repr(value)))
    return value


def _each_checked(given: dict[str, Any], allow_unknown_task: bool) -> dict[str, Any]:
    others = {field: value for field, value in given.items() if field not in TRIGGER_FIELDS}
    return {field: _rule_of(field, allow_unknown_task)(field, value) for field, value in others.items()}


def _rule_of(field: str, allow_unknown_task: bool) -> Rule:
    return ANYWHERE[field] if allow_unknown_task and field in ANYWHERE else FIELDS[field]


def _check_together(cleaned: dict[str, Any], routine: Routine) -> None:
    """The rules between fields; those that are not given count as the routine has them."""

    def value(field: str) -> Any:
        return cleaned.get(field, getattr(routine, field, None))

    _refuse_end_before_start(value)
    _in_order(value, "min_interval_ms", "max_interval_ms")
    _in_order(value, "retry_delay_ms", "retry_max_delay_ms")
    check_fires(value)


def _refuse_end_before_start(value: Any) -> None:
    start_at, end_at = value("start_at"), value("end_at")
    if start_at is not None and end_at is not None and end_at < start_at:
        raise InvalidValue("end_at", end_at, said("give a time not before start_at ({start_at})", start_at=start_at))


def _in_order(value: Any, low: str, high: str) -> None:
    if value(low) is not None and value(high) is not None and value(high) < value(low):
        expected = said("give a duration not below {field} ({value})", field=low, value=value(low))
        raise InvalidValue(high, value(high), expected)
