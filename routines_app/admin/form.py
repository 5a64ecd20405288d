"""The routine form: what is typed goes to the service, and what the service refuses stands at its field."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.code_facts import said_beside
from routines_app.admin.refusals import as_sentence
from routines_app.admin.restoring import DESTINATION, ROUTINE_PARTS, STALE, changed_arguments
from routines_app.admin.task_choices import task_choices
from routines_app.admin.translating import translated
from routines_app.admin.typed_fields import TypedFields
from routines_app.admin.verb_forms import LocalMomentField
from routines_app.core.errors import RoutineError
from routines_app.core.said import Said
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

NEEDED_BY = {TriggerKind.CRON: "cron", TriggerKind.INTERVAL: "interval_ms", TriggerKind.ONCE: "once_at"}
OVERLAP = gettext_lazy(
    "A slot that finds its routine active: Allow starts beside it, Forbid is skipped, Replace stops the other, "
    "Queue waits for it (the newest only)."
)
FORM_NAMES = {
    "every": "interval_ms",
    "at": "once_at",
    "reason": "change_reason",
    "actor": None,
    "version": None,
    "status": None,
}


class RoutineForm(TypedFields):
    """Of a routine, with what the service said about what was typed."""

    refused: RoutineError | None = None
    copied: Routine | None = None
    """The routine that a new one is filled from: a mask stands for what is stored there, by the same rules."""

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
                self.add_error(needed, _("A routine with the trigger {kind} needs this.").format(kind=kind))
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
                unused = _("The trigger is {label}, which has no use for this: choose {kind}, or clear it.")
                self.add_error(field, unused.format(label=label, kind=kind))

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

    def _other_destinations(self, cleaned: dict[str, Any]) -> list[Said]:
        """What else has changed of where the arguments go."""
        changed = [said for name, said in DESTINATION.items() if name in cleaned and self._differs(name, cleaned[name])]
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
                said = translated(error.expected)
                self.add_error(name, as_sentence(said if field == error.field else f"{error.field}: {said}"))
        else:
            self.add_error(None, translated(error))

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
        exclude = list(NOT_IN_THE_FORM)


def name_of_copy(name: str) -> str:
    """A name to begin with: that it is free, saving says."""
    most = Routine._meta.get_field("name").max_length or 0
    copy = _("{name} copy")
    return copy.format(name=name[: most - len(copy.format(name=""))])
