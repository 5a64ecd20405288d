"""The routine form: what is typed goes to the service, and what the service refuses stands at its field."""

from __future__ import annotations

import re
from typing import Any

from django import forms

from routines_app import service
from routines_app.admin.code_facts import said_beside
from routines_app.admin.form_fields import (
    SECRETS_BY_NAME,
    DurationField,
    JSONListField,
    JSONObjectField,
    WordsField,
)
from routines_app.admin.restoring import ROUTINE_PARTS, STALE, changed_arguments
from routines_app.admin.task_choices import task_choices
from routines_app.admin.verb_forms import LocalMomentField
from routines_app.core.errors import RoutineError
from routines_app.core.words import TRIGGER_FIELDS, TriggerKind
from routines_app.models import Routine

OWN_FIELDS = ("change_reason", "read_version", "other_task", "start_paused")
NOT_IN_THE_FORM = {
    "id": "the database gives it",
    "status": "the verbs pause, resume, archive and reset change it",
    "paused_until": "the verb pause changes it",
    "pause_reason": "the verb pause changes it",
    "pause_batch": "a batch of pauses changes it",
    "depth": "it follows from parent",
    "declared_in": "it says where the routine comes from",
    "declared_seen_at": "beats write it",
    "declared": "it is what code says; the form shows it beside what differs",
    "shadow": "the verb switch_over changes it",
    "version": "each edit raises it; the form carries the one it was filled from as read_version",
    "created_at": "it is a fact",
    "updated_at": "it is a fact",
}
"""The model's fields that no fieldset has, and why. A field that is in neither place fails a test by its name."""

COPY = " copy"
NEEDED_BY = {TriggerKind.CRON: "cron", TriggerKind.INTERVAL: "interval_ms", TriggerKind.ONCE: "once_at"}
OVERLAP = (
    "A slot that finds its routine active: Allow starts beside it, Forbid is skipped, Replace stops the other, "
    "Queue waits for it (the newest only)."
)
DESTINATION = ("task", "queue")
FORM_NAMES = {
    "every": "interval_ms",
    "at": "once_at",
    "reason": "change_reason",
    "actor": None,
    "version": None,
    "status": None,
}


class RoutineForm(forms.ModelForm):  # type: ignore[type-arg]
    """Durations as text, arguments as JSON with secrets masked, tasks from the registered ones."""

    refused: RoutineError | None = None
    copied: Routine | None = None
    """The routine that a new one is filled from: a mask stands for what is stored there, by the same rules."""

    tags = WordsField(required=False, help_text='With commas between them: a, b, "c, with a comma".')
    task = forms.ChoiceField(choices=task_choices, required=False)
    other_task = forms.CharField(
        label="Another task",
        required=False,
        help_text="Instead: the registered name of a task that only its workers know, in another repository say.",
    )
    args = JSONListField(label="Arguments", required=False, initial=list, help_text="A JSON list.")
    kwargs = JSONObjectField(
        label="Named arguments", required=False, initial=dict, help_text=f"A JSON object. {SECRETS_BY_NAME}"
    )
    options = JSONObjectField(
        label="Message options",
        required=False,
        help_text="A JSON object with any of priority (a number), headers, exchange and routing_key.",
    )
    interval_ms = DurationField(label="Every", required=False, help_text="30s, 10m, 1.5h, 1d; at least 1s.")
    once_at = LocalMomentField(label="At", required=False, help_text="It fires then, and never again.")
    timezone = forms.CharField(widget=forms.TextInput(attrs={"list": "rt-timezones", "autocomplete": "off"}))
    start_at = LocalMomentField(label="Starts", required=False)
    end_at = LocalMomentField(label="Ends", required=False)
    jitter_ms = DurationField(label="Jitter", help_text="Delay each start by up to this long.")
    misfire_grace_ms = DurationField(label="Grace", help_text="A slot that is later than this is missed.")
    catch_up_window_ms = DurationField(
        label="Catch-up window", required=False, help_text="Slots missed longer ago are not caught up."
    )
    timeout_ms = DurationField(
        label="Time-out",
        required=False,
        help_text="1s to 24h; 0s: none. Empty: the task's own limits, and 5 minutes for one that has none.",
    )
    expires_ms = DurationField(
        label="Expires", required=False, help_text="Skip a run not started this long after its slot."
    )
    retry_delay_ms = DurationField(label="First retry after", help_text="Doubles with each attempt …")
    retry_max_delay_ms = DurationField(label="At most", help_text="… up to this.")
    retry_for = WordsField(required=False, help_text="Exception names; empty means all.")
    no_retry_for = WordsField(required=False, help_text="Exception names that are final.")
    min_interval_ms = DurationField(label="Never more often than", required=False)
    max_interval_ms = DurationField(label="Never less often than", required=False)
    phases = JSONListField(
        required=False,
        help_text="Of a rotation's member, a JSON list: what a cycle runs, each with name, task and, where they "
        "differ, args and kwargs. Empty: as the rotation says.",
    )
    change_reason = forms.CharField(
        label="Why this change", required=False, max_length=500, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
    read_version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    start_paused = forms.BooleanField(
        label="Paused at first",
        required=False,
        initial=True,
        help_text="Nothing runs twice by mistake: look at the copy, then resume it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.copied is not None:
            kwargs["instance"] = self.copied
            kwargs["initial"] = {**(kwargs.get("initial") or {}), "name": name_of_copy(self.copied.name)}
        super().__init__(*args, **kwargs)
        if "concurrency_policy" in self.fields:
            self.fields["concurrency_policy"].help_text = OVERLAP
        self.initial["read_version"] = self.instance.version
        if self._is_new:
            self._start_with_defaults()
        for name, field in self.fields.items():
            if isinstance(field, LocalMomentField):
                field.stored = getattr(self.instance, name)
        if "task" in self.fields:
            self.fields["task"].choices = task_choices(self.instance.task)  # type: ignore[attr-defined]
        self._show_code()

    def _show_code(self) -> None:
        """Beside each field that somebody has changed: what it would be by the code that declares the routine."""
        if self.copied is not None:
            return
        for name, value in service.differences(self.instance).items():
            if name in self.fields and (said := said_beside(self.fields[name].help_text, name, value)):
                self.fields[name].help_text = said

    def _start_with_defaults(self) -> None:
        """Fields that are declared here do not know the model's defaults."""
        for name in self.declared_fields.keys() - OWN_FIELDS:
            self.initial.setdefault(name, getattr(self.instance, name))
        self.initial["timezone"] = service.default_timezone()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self._take_other_task(cleaned)
        for kind, needed in NEEDED_BY.items():
            missing = needed in self.fields and not cleaned.get(needed) and needed not in self.errors
            if cleaned.get("trigger_kind") == kind and missing:
                self.add_error(needed, f"A routine with the trigger {kind} needs this.")
        self._refuse_unused(cleaned)
        self._restore_secrets(cleaned)
        self._check_each(cleaned)
        if self.refused is not None:
            self._show(self.refused)
        return cleaned

    def _refuse_unused(self, cleaned: dict[str, Any]) -> None:
        """Without scripts all fields of a trigger are there to be typed into: what would be dropped is said. What was
        stored and left as it is goes with the trigger that it was of."""
        chosen = cleaned.get("trigger_kind")
        for kind, field in NEEDED_BY.items():
            is_typed = cleaned.get(field) and self._differs(field, cleaned[field])
            if chosen and kind != chosen and is_typed:
                label = dict(self.fields["trigger_kind"].choices).get(chosen, chosen)  # type: ignore[attr-defined]
                self.add_error(field, f"The trigger is {label}, which has no use for this: choose {kind}, or clear it.")

    def _take_other_task(self, cleaned: dict[str, Any]) -> None:
        """To type a name is to confirm that it is meant, though nobody here knows it."""
        if "other_task" not in cleaned or "task" not in cleaned:
            return
        if cleaned["other_task"]:
            cleaned["task"] = cleaned["other_task"]
        elif not cleaned["task"]:
            self.add_error("task", self.fields["task"].error_messages["required"])

    def _restore_secrets(self, cleaned: dict[str, Any]) -> None:
        """A new routine has none."""
        given = {name: self._or_empty(name, cleaned[name]) for name in ROUTINE_PARTS if name in cleaned}
        cleaned.update(given)
        if self._is_new or not given:
            return
        stored = {name: getattr(self.instance, name) for name in ROUTINE_PARTS}
        try:
            cleaned.update(changed_arguments(given, stored, self._other_destinations(cleaned)) or stored)
        except RoutineError as error:
            self._show(error)

    def _or_empty(self, name: str, value: Any) -> Any:
        return type(getattr(self.instance, name))() if value is None else value

    def _other_destinations(self, cleaned: dict[str, Any]) -> list[str]:
        """What else has changed of where the arguments go: another task or another worker may send them anywhere."""
        changed = [f"the {name}" for name in DESTINATION if name in cleaned and self._differs(name, cleaned[name])]
        return changed if cleaned.get("read_version") == self.instance.version else [*changed, STALE]

    def _check_each(self, cleaned: dict[str, Any]) -> None:
        """The service stops at the first field that is wrong; a person wants to see all of them."""
        for name, value in self.changes_in(cleaned).items():
            try:
                if value not in (None, ""):
                    service.clean_value(name, value, allow_unknown_task=True)
            except RoutineError as error:
                self._show(error)

    def _show(self, error: RoutineError) -> None:
        """At the field that it is about: `phases[1].task` is about the phases."""
        field = re.split(r"[\[.]", error.field, maxsplit=1)[0]
        name = FORM_NAMES.get(field, field)
        if name in self.fields:
            if name not in self.errors:
                said = error.expected if field == error.field else f"{error.field}: {error.expected}"
                self.add_error(name, f"{said[:1].upper()}{said[1:]}.")
        else:
            self.add_error(None, str(error))

    def _post_clean(self) -> None:
        """The service validates and writes; the instance stays as it was read."""

    def changes_in(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """What differs from the stored routine, under the names that the service takes."""
        changes = {
            name: value
            for name, value in cleaned.items()
            if name not in OWN_FIELDS + TRIGGER_FIELDS and (self._is_new or self._differs(name, value))
        }
        if cleaned.get("rotation") is not None and "concurrency_policy" not in self.changed_data:
            changes.pop("concurrency_policy", None)  # it follows from the rotation
        return changes | self._trigger_changes(cleaned)

    def _differs(self, name: str, value: Any) -> bool:
        """A field that was not touched stays as it is stored, even where the form cannot show all of it."""
        is_touched = name in self.changed_data or (name == "task" and "other_task" in self.changed_data)
        return is_touched and bool(getattr(self.instance, name) != value)

    @property
    def _is_new(self) -> bool:
        return self.instance.pk is None

    def _trigger_changes(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """The trigger as a whole; a field that the chosen trigger does not need is ignored."""
        if "trigger_kind" not in cleaned:
            return {}
        kind = cleaned["trigger_kind"]
        found: dict[str, Any] = {"trigger_kind": kind}
        if kind == TriggerKind.CRON:
            found["cron"] = cleaned.get("cron") or ""
        elif kind in NEEDED_BY:
            found[NEEDED_BY[kind]] = cleaned.get(NEEDED_BY[kind])
        same = not self._is_new and all(getattr(self.instance, name) == value for name, value in found.items())
        return {} if same else found

    class Meta:
        model = Routine
        exclude = list(NOT_IN_THE_FORM)  # noqa: DJ006 - a new field shall not be left out by being forgotten here


def name_of_copy(name: str) -> str:
    """A name to begin with: that it is free, saving says."""
    most = Routine._meta.get_field("name").max_length or 0
    return f"{name[: most - len(COPY)]}{COPY}"
