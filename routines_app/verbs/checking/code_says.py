"""What code says about a routine beside what the routine is.

`Routine.declared` holds each field that code has said when it was synced last. A field that differs from it, and that a
person has changed last, is that person's: it stays until it is given back, or until code says the same. Then they
agree, and it follows the code from there. One that a beat has changed last, or plain SQL, is not. The history tells who
it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model

from routines_app.core.words import TRIGGER_FIELDS
from routines_app.models import ChangeKind, Routine, ScheduleChange
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.changes import BEAT, CODE
from routines_app.verbs.checking.validation import DECLARED_FIELDS, FIELDS, SCHEDULE_FIELDS, is_same

ROWS = frozenset({"pool", "parent", "rotation"})
MOMENTS = frozenset({"once_at", "start_at", "end_at"})


def as_declared(said: dict[str, Any]) -> dict[str, Any]:
    """Checked values as `Routine.declared` has them."""
    return {field: _as_json(value) for field, value in said.items() if field != "name"}


def differences(routine: Routine) -> dict[str, Any]:
    """The fields that are not as code says, each with the value that they would have by code.

    What code says nothing about, it leaves at its default. Empty for a routine of which code's values are not known.
    """
    declared = declared_values(routine)
    if declared is None:
        return {}
    unsaid = Routine()
    found = {field: declared[field] if field in declared else default(field, unsaid) for field in FIELDS}
    return {
        field: _from_json(field, value)
        for field, value in found.items()
        if field not in DECLARED_FIELDS and not is_same(_as_json(_stored(routine, field)), value)
    }


def edited(routine: Routine) -> set[str]:
    """The fields that are a person's by now: code leaves them alone."""
    candidates = FIELDS.keys() if declared_values(routine) is None else differences(routine).keys()
    if not candidates:
        return set()
    found = by_people(routine) & candidates
    # Code's new time zone would move the times that a person has chosen.
    return (found if found.isdisjoint(TRIGGER_FIELDS) else found | SCHEDULE_FIELDS) - DECLARED_FIELDS


def by_people(routine: Routine) -> set[str]:
    """The fields that a person was the last to say."""
    return {field for field, actor in last_changed_by(routine).items() if actor not in (BEAT, CODE)}


def with_trigger(fields: Iterable[str]) -> set[str]:
    """A trigger is one thing: whoever changes a part of it has said the others."""
    chosen = set(fields)
    return chosen if chosen.isdisjoint(TRIGGER_FIELDS) else chosen | set(TRIGGER_FIELDS)


def said_before(routine: Routine) -> set[str]:
    """The fields that code has said about it, also when there was no place yet to keep that."""
    declared = declared_values(routine)
    if declared is not None:
        return set(declared)
    return {field for actor, fields in _history(routine) if actor in (BEAT, CODE) for field in fields}


def declared_values(routine: Routine) -> dict[str, Any] | None:
    """Plain SQL can put anything there: what is no object is not known."""
    return routine.declared if isinstance(routine.declared, dict) else None


def default(field: str, unsaid: Routine) -> Any:
    """What a routine has by itself."""
    return _as_json(_stored(unsaid, field))


def last_changed_by(routine: Routine) -> dict[str, str]:
    return {field: actor for actor, fields in _history(routine) for field in fields}


def _history(routine: Routine) -> Iterable[tuple[str, set[str]]]:
    """Who has said which fields, the oldest first."""
    kinds = [ChangeKind.CREATED, ChangeKind.UPDATED]
    changes = ScheduleChange.objects.using(ledger_alias()).filter(routine_id=routine.pk, kind__in=kinds)
    for actor, after in changes.order_by("id").values_list("actor", "after"):
        yield actor, FIELDS.keys() & set(after or ())


def _stored(routine: Routine, field: str) -> Any:
    """Of a row that it refers to the id, which is at hand; without phases an older release writes NULL."""
    value = getattr(routine, f"{field}_id" if field in ROWS else field)
    return [] if field == "phases" and value is None else value


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.pk if isinstance(value, Model) else value


def _from_json(field: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if field in MOMENTS and isinstance(value, str) else value
