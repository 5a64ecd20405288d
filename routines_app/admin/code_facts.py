"""Where a routine is not as the code says that declares it: for its page and its form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from routines_app import service
from routines_app.admin.phrases import clock_time
from routines_app.core.words import TRIGGER_FIELDS, TriggerKind
from routines_app.masks import masked
from routines_app.models import Pool, Routine

NAMED: dict[str, Any] = {"pool": Pool, "parent": Routine, "rotation": Routine}  # a rotation's name is its routine's
EMPTY: tuple[Any, ...] = (None, "", [], {})


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
            label=_called(name),
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
    return [CodeFact(field=field, label=_("schedule"), value=_trigger(has), says=_trigger(has | differing)), *facts]


def _called(name: str) -> str:
    """A field as the model calls it, without its unit: the values are told with theirs."""
    return str(getattr(Routine._meta.get_field(name), "verbose_name", name)).removesuffix(" ms")


def said_beside(help_text: object, name: str, value: Any) -> SafeString | None:
    """The help of a form's field with what code says; None where that has nothing to say about this field."""
    if name in TRIGGER_FIELDS and value in EMPTY:
        return None
    says = _("Code says: {value}").format(value=in_words(name, value))
    return format_html('{} <strong class="rt-code-says">{}</strong>', help_text, says)


def in_words(name: str, value: Any) -> str:
    if value in EMPTY:
        return pgettext("a value", "nothing")
    if name in NAMED:
        found = NAMED[name].objects.filter(pk=value).values_list("name", flat=True).first()
        return found or _("one that is gone (id {id})").format(id=value)
    if isinstance(value, bool):
        return pgettext("a value", "yes") if value else pgettext("a value", "no")
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
            return _("every {length}").format(length=in_words("interval_ms", values["interval_ms"]))
        case TriggerKind.ONCE:
            return _("once, {moment}").format(moment=in_words("once_at", values["once_at"]))
        case _by_hand:
            return pgettext("a schedule", "by hand")
