"""What the plan of leases is asked with: which pools, when, and what if the policy were another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin.form_fields import JSONObjectField, WordsField
from routines_app.admin.refusals import as_sentence
from routines_app.admin.translating import translated
from routines_app.admin.verb_forms import LocalMomentField
from routines_app.core.errors import RoutineError
from routines_app.core.words import ConcurrencyPolicy, Priority
from routines_app.models import Pool
from routines_app.models.choices import choices_of

AS_IT_IS = ("", gettext_lazy("as it is"))
CEILING = "ceiling_"
CEILINGS = 30  # pools that have a field of their own; the others are asked about in JSON
SHORT = {"class": "rt-short", "autocomplete": "off", "spellcheck": "false"}
WIDE = {"class": "vTextField", "autocomplete": "off", "spellcheck": "false"}
NAMES = gettext_lazy("Names of routines: a, b.")
EXAMPLE = (
    '{"priorities": {"a": "HIGH"}, "schedules": {"b": {"every": "10m"}}, "concurrency": {"c": "FORBID"}, '
    '"pools": {"d": 3}}.'
)
LISTS = ("paused", "resumed")
OF_ONE_ROUTINE = ("priority", "concurrency", "cron", "every")


class WhatIfForm(forms.Form):
    """A GET form: whoever sends its address to somebody else sends the question too."""

    pool = forms.ChoiceField(label=gettext_lazy("Only the pool"), required=False)
    now = LocalMomentField(
        label=pgettext_lazy("before a time", "As of"), required=False, help_text=gettext_lazy("Empty: now.")
    )
    paused = WordsField(
        label=gettext_lazy("Pause"), required=False, widget=forms.TextInput(attrs=WIDE), help_text=NAMES
    )
    resumed = WordsField(
        label=gettext_lazy("Resume"), required=False, widget=forms.TextInput(attrs=WIDE), help_text=NAMES
    )
    routine = forms.CharField(
        label=gettext_lazy("Routine"), required=False, max_length=200, widget=forms.TextInput(attrs=WIDE)
    )
    priority = forms.ChoiceField(
        label=gettext_lazy("Priority"), choices=[AS_IT_IS, *choices_of(Priority)], required=False
    )
    concurrency = forms.ChoiceField(
        label=gettext_lazy("Overlap"), choices=[AS_IT_IS, *choices_of(ConcurrencyPolicy)], required=False
    )
    cron = forms.CharField(
        label=gettext_lazy("Cron"), required=False, max_length=200, widget=forms.TextInput(attrs=SHORT)
    )
    every = forms.CharField(
        label=pgettext_lazy("before a length of time", "Every"),
        required=False,
        max_length=50,
        widget=forms.TextInput(attrs=SHORT),
        help_text="30s, 10m, 1.5h, 1d.",
    )
    more = JSONObjectField(
        label=gettext_lazy("Anything else"),
        required=False,
        help_text=format_lazy("{} {}", gettext_lazy("A JSON object, for more than one routine:"), EXAMPLE),
    )

    def __init__(self, *args: Any, pools: Sequence[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pools = {f"{CEILING}{pool.pk}": pool for pool in pools[:CEILINGS]}
        choices = [("", _("All of them")), *((pool.name, pool.name) for pool in pools)]
        self.fields["pool"].choices = choices  # type: ignore[attr-defined]
        for name, pool in self.pools.items():
            attrs = {**SHORT, "placeholder": str(pool.max_concurrent), "inputmode": "numeric"}
            self.fields[name] = forms.CharField(
                label=pool.name, required=False, max_length=20, widget=forms.TextInput(attrs=attrs)
            )

    def ceilings(self) -> list[tuple[Pool, forms.BoundField]]:
        """The small table: each pool and the field for its ceiling."""
        return [(pool, self[name]) for name, pool in self.pools.items()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not cleaned.get("routine") and "routine" not in self.errors and any(cleaned.get(n) for n in OF_ONE_ROUTINE):
            self.add_error("routine", _("Name the routine that this is about."))
        if cleaned.get("cron") and cleaned.get("every"):
            self.add_error("every", _("Give a cron or an interval, not both."))
        return cleaned

    @property
    def what_if(self) -> dict[str, Any]:
        """What `plan_leases` takes; empty when nothing is asked. A field says more than the same part of the JSON."""
        typed = self.cleaned_data
        name = typed.get("routine")
        parts: dict[str, Any] = {
            "pools": {pool.name: _number(typed[field]) for field, pool in self.pools.items() if typed.get(field)},
            "priorities": {name: typed["priority"]} if typed.get("priority") else {},
            "concurrency": {name: typed["concurrency"]} if typed.get("concurrency") else {},
            "schedules": {name: schedule} if (schedule := self._schedule()) else {},
        }
        lists = {part: typed[part] for part in LISTS if typed.get(part)}
        return _merged(typed.get("more") or {}, {part: value for part, value in (parts | lists).items() if value})

    def _schedule(self) -> dict[str, str]:
        return {kind: self.cleaned_data[kind] for kind in ("cron", "every") if self.cleaned_data.get(kind)}

    def refuse(self, refused: RoutineError) -> None:
        """What the service said, beside the field that it is about."""
        field = self._field_of(refused)
        one_thing = field is not None and field not in ("more", *LISTS)
        self.add_error(field, as_sentence(refused.expected) if one_thing else translated(refused))

    def _field_of(self, refused: RoutineError) -> str | None:
        """Where it was typed; what is in none of the fields came with the JSON."""
        part, value, typed = refused.field, refused.value, self.cleaned_data
        if part == "now":
            return "now"
        if value is not None and value == typed.get("routine"):  # unknown, archived …
            return "routine"
        more = typed.get("more") or {}
        named = next((name for name in _lists_of(part) if value in (typed.get(name) or ())), None)
        ceiling = next((name for name in self.pools if typed.get(name) and _number(typed[name]) == value), None)
        own = {"pools": ceiling, "schedules": self._schedule_field(value)}.get(part) or named
        if own is None and part in LISTS and part not in more:
            return part  # several names at once
        return own or ("more" if more else None)

    def _schedule_field(self, value: Any) -> str | None:
        return next((kind for kind, text in self._schedule().items() if value in (text, {kind: text})), None)


def _lists_of(part: str) -> tuple[str, ...]:
    """The lists in which a name may stand that something is wrong with: that one, if it is said, or either."""
    return (part,) if part in LISTS else LISTS


def _number(text: str) -> int | str:
    """A ceiling as a number; what is none goes on as it is, and the service says what would be right."""
    return int(text) if text.isascii() and text.isdigit() else text


def _merged(more: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    found = dict(more)
    for part, value in typed.items():
        given = found.get(part)
        if isinstance(given, dict) and isinstance(value, dict):
            found[part] = given | value
        elif isinstance(given, list) and isinstance(value, list):
            found[part] = [*given, *(name for name in value if name not in given)]
        else:
            found[part] = value
    return found
