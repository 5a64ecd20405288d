"""The form of a rotation: what is typed goes to the service, and what the service refuses stands at its field."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app import service
from routines_app.admin.form_fields import AT_LEAST_A_SECOND, WITH_COMMAS, DurationField, JSONListField, WordsField
from routines_app.admin.refusals import as_sentence
from routines_app.admin.restoring import STALE, changed_arguments
from routines_app.admin.task_choices import seed_choices, task_choices
from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError
from routines_app.core.words import TRIGGER_FIELDS, TriggerKind
from routines_app.models import Rotation
from routines_app.models.choices import choices_of

OF_ROUTINE = ("name", "description", "tags", *TRIGGER_FIELDS, "timezone")
"""Fields that the rotation's own routine has."""
OF_ROTATION = (
    *("budget", "max_in_flight", "fresh_for_ms", "depth_weight"),
    *("member_task", "phases", "seed", "archive_vanished"),
)
TRIGGERS = [(kind.value, dict(choices_of(TriggerKind))[kind]) for kind in (TriggerKind.INTERVAL, TriggerKind.CRON)]
FORM_NAMES = {"every": "interval_ms", "fresh_for": "fresh_for_ms", "task": "member_task", "reason": "change_reason"}
SHORT = forms.TextInput(attrs={"class": "rt-short", "autocomplete": "off"})
THIRTY_MINUTES = 1_800_000


class RotationForm(forms.ModelForm):  # type: ignore[type-arg]
    """What the rotation's own routine has stands beside what the rotation has itself."""

    refused: RoutineError | None = None

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=200, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "class": "vLargeTextField"}),
    )
    tags = WordsField(label=gettext_lazy("Tags"), required=False, help_text=WITH_COMMAS)
    trigger_kind = forms.ChoiceField(label=gettext_lazy("Ticks by"), choices=TRIGGERS)
    cron = forms.CharField(
        label=gettext_lazy("Cron"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("minute hour day month weekday"),
    )
    interval_ms = DurationField(
        label=pgettext_lazy("before a length of time", "Every"), required=False, help_text=AT_LEAST_A_SECOND
    )
    timezone = forms.CharField(
        label=gettext_lazy("Timezone"),
        widget=forms.TextInput(attrs={"list": "rt-timezones", "autocomplete": "off"}),
    )
    budget = forms.IntegerField(
        label=gettext_lazy("Budget"),
        help_text=gettext_lazy("How many members a tick picks at most."),
        widget=forms.NumberInput,
    )
    max_in_flight = forms.IntegerField(
        label=gettext_lazy("In flight"),
        required=False,
        help_text=gettext_lazy("No tick picks while this many are under way. Empty: the budget."),
    )
    fresh_for_ms = DurationField(
        label=pgettext_lazy("before a length of time", "Fresh for"),
        help_text=gettext_lazy("How long after its cycle a member is owed nothing."),
    )
    depth_weight = forms.FloatField(
        label=gettext_lazy("Depth weight"),
        help_text=gettext_lazy("How much longer deeper members count as having waited: 0 no longer."),
    )
    member_task = forms.ChoiceField(
        label=gettext_lazy("Task of members"),
        choices=task_choices,
        required=False,
        help_text=gettext_lazy("Of those that seeding makes."),
    )
    other_task = forms.CharField(
        label=gettext_lazy("Another task"),
        required=False,
        help_text=gettext_lazy("Instead: the registered name of a task that only workers know."),
    )
    phases = JSONListField(
        label=gettext_lazy("Phases"),
        required=False,
        help_text=gettext_lazy(
            "What a cycle runs, of members that say nothing else: a JSON list such as "
            '[{"name": "build", "task": "shop.tasks.build"}]. Empty: the member\'s own task, once.'
        ),
    )
    seed = forms.ChoiceField(
        label=gettext_lazy("Seed"),
        required=False,
        help_text=gettext_lazy(
            "A callable that yields what should be members; workers call it with each tick. "
            'Which there are, the setting ROUTINES["SEEDS"] says.'
        ),
    )
    archive_vanished = forms.BooleanField(
        label=gettext_lazy("Archive vanished"),
        required=False,
        help_text=gettext_lazy("Members that the callable yields no longer are archived."),
    )
    change_reason = forms.CharField(
        label=gettext_lazy("Why this change"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    read_version = forms.IntegerField(label="", required=False, widget=forms.HiddenInput)

    class Meta:
        model = Rotation
        fields: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        shown = {name: self._stored(name) for name in OF_ROUTINE + OF_ROTATION}
        if self._is_new:
            shown |= {"trigger_kind": TriggerKind.INTERVAL.value, "interval_ms": THIRTY_MINUTES, "max_in_flight": None}
            shown |= {"timezone": service.default_timezone()}
        else:
            self.initial["read_version"] = self.instance.routine.version
        self.initial.update(shown)
        self.fields["member_task"].choices = task_choices(self.instance.member_task)  # type: ignore[attr-defined]
        self.fields["seed"].choices = seed_choices(self.instance.seed)  # type: ignore[attr-defined]

    @property
    def _is_new(self) -> bool:
        return self.instance.pk is None

    def _stored(self, name: str) -> Any:
        if name in OF_ROTATION:
            return getattr(self.instance, name)
        return None if self._is_new else getattr(self.instance.routine, name)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("other_task"):
            cleaned["member_task"] = cleaned["other_task"]
        needed = "cron" if cleaned.get("trigger_kind") == TriggerKind.CRON else "interval_ms"
        if not cleaned.get(needed) and needed not in self.errors:
            self.add_error(needed, _("A rotation that ticks by this needs it."))
        self._restore_secrets(cleaned)
        if self.refused is not None:
            self._show(self.refused)
        return cleaned

    def _restore_secrets(self, cleaned: dict[str, Any]) -> None:
        """A mask that comes back means what is stored, as long as all phases are as they were shown."""
        if "phases" not in cleaned:
            return
        cleaned["phases"] = cleaned["phases"] or []
        if self._is_new:
            return
        stored = {"phases": self.instance.phases}
        stale = [] if cleaned.get("read_version") == self.instance.routine.version else [STALE]
        try:
            cleaned.update(changed_arguments({"phases": cleaned["phases"]}, stored, stale) or stored)
        except RoutineError as error:
            self._show(error)

    def _show(self, error: RoutineError) -> None:
        """At the field that it is about: `phases[1].task` is about the phases."""
        field = re.split(r"[\[.]", error.field, maxsplit=1)[0]
        name = FORM_NAMES.get(field, field)
        if name not in self.fields or self.fields[name].widget.is_hidden:
            self.add_error(None, translated(error))
        elif name not in self.errors:
            said = translated(error.expected)
            self.add_error(name, as_sentence(said if field == error.field else f"{error.field}: {said}"))

    def _post_clean(self) -> None:
        """The service validates and writes; the instance stays as it was read."""

    def changes_in(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """What differs from what is stored, or all of it when it is new, under the names that the service takes."""
        named = [name for name in OF_ROUTINE + OF_ROTATION if name not in TRIGGER_FIELDS and name in cleaned]
        changes = {name: cleaned[name] for name in named if self._is_new or self._differs(name, cleaned[name])}
        return changes | self._trigger_changes(cleaned)

    def _differs(self, name: str, value: Any) -> bool:
        """A field that was not touched stays as it is stored, even where the form cannot show all of it."""
        is_touched = name in self.changed_data or (name == "member_task" and "other_task" in self.changed_data)
        return is_touched and bool(self._stored(name) != value)

    def _trigger_changes(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The trigger as a whole; a field that the chosen trigger does not need is ignored."""
        by_cron = cleaned.get("trigger_kind") == TriggerKind.CRON
        found = {"cron": cleaned.get("cron")} if by_cron else {"every": _length(cleaned.get("interval_ms"))}
        stored = {"cron": self._stored("cron")} if by_cron else {"every": _length(self._stored("interval_ms"))}
        same = self._stored("trigger_kind") == cleaned.get("trigger_kind") and found == stored
        return {} if same else found


def _length(ms: int | None) -> timedelta | None:
    """As the service takes it: there a bare number says nothing."""
    return None if ms is None else timedelta(milliseconds=ms)
