"""The form above the list of runs: it makes addresses, and what they ask for is read by `run_question`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin.run_question import RANGES, Question
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Pool
from routines_app.models.choices import choices_of

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

POOLS_OFFERED = 50
FIRST = ("q", "slot", "range", "from", "until")
TEXTS = {
    "q": (gettext_lazy("Routine or run"), gettext_lazy("name or id")),
    "slot": (gettext_lazy("Open at the slot"), "03:00 yesterday"),  # as it is typed, in every language
    "from": (gettext_lazy("Made from"), "2h ago"),
    "until": (gettext_lazy("Until"), "now"),
    "pool": (gettext_lazy("Pool"), ""),
    "queue": (gettext_lazy("Queue"), ""),
    "worker": (gettext_lazy("Worker"), ""),
    "task": (gettext_lazy("Task"), ""),
}
POOL_NAMES = "rt-pool-names"


class RunListForm(forms.Form):
    """As it was typed; the first fields are always in view."""

    field_order = [*FIRST, "status", "trigger", "reason", "pool", "queue", "worker", "task", "final"]

    def __init__(self, asked: Question, *, without: Collection[str] = ()) -> None:
        super().__init__(initial=dict(asked.typed), auto_id="rt-%s", label_suffix="")
        for name, (label, example) in TEXTS.items():
            widget = forms.TextInput(attrs={"placeholder": example, "autocomplete": "off"})
            self.fields[name] = forms.CharField(label=label, required=False, widget=widget)
        self.fields["range"] = _choice(
            pgettext_lazy("when runs were made", "Made"), gettext_lazy("any time"), list(RANGES.items())
        )
        self.fields["status"] = _choice(gettext_lazy("Outcome"), gettext_lazy("any"), choices_of(RunStatus))
        self.fields["trigger"] = _choice(gettext_lazy("Trigger"), gettext_lazy("any"), choices_of(RunTrigger))
        self.fields["reason"] = _choice(
            gettext_lazy("Reason"), gettext_lazy("any"), [one for one in choices_of(Reason) if one[0]]
        )
        final = forms.CheckboxInput(check_test=lambda value: value == "1", attrs={"value": "1"})
        self.fields["final"] = forms.BooleanField(
            label=gettext_lazy("Final failures only"), required=False, widget=final
        )
        self.fields["pool"].widget.attrs["list"] = POOL_NAMES
        for name in asked.problems:
            if name in self.fields:
                self.fields[name].widget.attrs |= {"aria-invalid": "true", "aria-describedby": "rt-problems"}
        self.order_fields(self.field_order)
        self._first = [name for name in FIRST if name not in without]
        self.more_is_open = any(name in asked.typed for name in self.field_order if name not in FIRST)
        self.pool_names = list(Pool.objects.order_by("name").values_list("name", flat=True)[:POOLS_OFFERED])
        self.pool_list = POOL_NAMES

    def first(self) -> list[forms.BoundField]:
        return [self[name] for name in self._first]

    def more(self) -> list[forms.BoundField]:
        return [self[name] for name in self.field_order if name not in FIRST]


def _choice(label: _StrPromise, anything: _StrPromise, choices: Sequence[tuple[str, Any]]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", anything), *choices])
