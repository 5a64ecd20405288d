"""Where a routine is not as the code says that declares it: for its page and its form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.phrases import clock_time
from routines_app.core.words import TRIGGER_FIELDS, TriggerKind
from routines_app.masks import masked
from routines_app.models import Pool, Routine

NAMED: dict[str, Any] = {"pool": Pool, "parent": Routine, "rotation": Routine}  # a rotation's name is its routine's
NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFact:
    """One field that differs; a trigger is one."""

    field: str
    label: str
    value: str
    says: str
    """What it is by code."""


def code_facts(routine: Routine) -> list[CodeFact]:
    differing = service.differences(routine)
    facts = [
        CodeFact(
            field=name,
            label=name.removesuffix("_ms").replace("_", " "),
            value=in_words(name, getattr(routine, f"{name}_id" if name in NAMED else name)),
            says=in_words(name, value),
        )
        for name, value in differing.items()
        if name not in TRIGGER_FIELDS
    ]
    if differing.keys().isdisjoint(TRIGGER_FIELDS):
        return facts
    has = {name: getattr(routine, name) for name in TRIGGER_FIELDS}
    field = next(name for name in differing if name in TRIGGER_FIELDS)
    return [CodeFact(field=field, label="schedule", value=_trigger(has), says=_trigger(has | differing)), *facts]


def said_beside(help_text: object, name: str, value: Any) -> SafeString | None:
    """The help of a form's field with what code says; None where that has nothing to say about this field."""
    says = in_words(name, value)
    if name in TRIGGER_FIELDS and says == NOTHING:
        return None
    return format_html('{} <strong class="rt-code-says">Code says: {}</strong>', help_text, says)


def in_words(name: str, value: Any) -> str:
    if value in (None, "", [], {}):
        return NOTHING
    if name in NAMED:
        found = NAMED[name].objects.filter(pk=value).values_list("name", flat=True).first()
        return found or f"one that is gone (id {value})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return clock_time(value, timezone.get_current_timezone())
    if isinstance(value, list | dict):
        return json.dumps(masked(value), ensure_ascii=False, default=str)
    return service.format_duration(value) if name.endswith("_ms") and isinstance(value, int) else str(value)


def _trigger(values: dict[str, Any]) -> str:
    match values["trigger_kind"]:
        case TriggerKind.CRON:
            return str(values["cron"])
        case TriggerKind.INTERVAL:
            return f"every {in_words('interval_ms', values['interval_ms'])}"
        case TriggerKind.ONCE:
            return f"once, {in_words('once_at', values['once_at'])}"
        case _:
            return "by hand"
