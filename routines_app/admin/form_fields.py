"""Form fields for what routines are made of: durations, JSON arguments, lists of words."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.refusals import as_sentence
from routines_app.admin.translating import grouped, translated
from routines_app.core.errors import RoutineError
from routines_app.masks import masked

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

WITH_COMMAS = gettext_lazy('With commas between them: a, b, "c, with a comma".')
AT_LEAST_A_SECOND = gettext_lazy("30s, 10m, 1.5h, 1d; at least 1s.")
SECRETS_BY_NAME = gettext_lazy(
    "Give the name of a secret rather than the secret: the task reads its value from settings, environment or vault. "
    "A hidden value (••••••) is restored only while arguments, task and queue stay as they are."
)


class DurationField(forms.CharField):
    """Text such as `10m`; milliseconds inside."""

    widget = forms.TextInput(attrs={"class": "rt-short", "autocomplete": "off", "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return service.format_duration(value) if isinstance(value, int) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        try:
            return service.parse_duration(text)
        except RoutineError as error:
            raise ValidationError(translated(error.expected)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), (data or "").strip())


class _JSONField(forms.JSONField):
    kind: type = object
    wanted: str | _StrPromise = ""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 60, "class": "vLargeTextField rt-code", "spellcheck": "false"})

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed is shown again as it was typed: masked, a new secret would be lost with the next save."""
        return initial if self.disabled else data or ""

    def prepare_value(self, value: Any) -> Any:
        """What is stored: indented, and with secrets masked; a mask that comes back means what is stored."""
        if value is None or isinstance(value, str):
            return value or ""
        return json.dumps(masked(value), indent=2, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        if self.disabled or not isinstance(value, str):
            return value
        if value in self.empty_values:
            return None
        try:
            return service.read_json("json", value)
        except RoutineError as error:
            raise ValidationError(as_sentence(error.expected)) from None

    def clean(self, value: Any) -> Any:
        found = super().clean(value)
        if found is not None and not isinstance(found, self.kind):
            raise ValidationError(self.wanted)
        return found


class JSONListField(_JSONField):
    kind, wanted = list, gettext_lazy('Give a JSON list such as [1, "two"].')
    empty_values = [None, ""]


class JSONObjectField(_JSONField):
    kind, wanted = dict, gettext_lazy('Give a JSON object such as {"limit": 10}.')
    empty_values = [None, ""]


class RowField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A row that is chosen by its id. What is none is shown as nothing: the widget would ask the database for it."""

    def prepare_value(self, value: Any) -> Any:
        shown = super().prepare_value(value)
        return shown if service.is_id(str(shown)) else None


class WordsField(forms.CharField):
    """Words with commas between them, in double quotes where a word holds a comma itself; a list inside."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(_quoted(str(word)) for word in value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> Any:
        if len(value or "") > service.LONGEST_WORDS:
            most = grouped(service.LONGEST_WORDS)
            raise ValidationError(_("Give at most {most} characters.").format(most=most))
        try:
            rows = list(csv.reader([value or ""], skipinitialspace=True, strict=True))
        except csv.Error:
            raise ValidationError(_('Close double quotes, and put a comma after them: a, "b, c", d.')) from None
        return [word.strip() for row in rows for word in row if word.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """By what was shown: reading it again may differ from what is stored, in spaces for example."""
        return bool((data or "").strip() != self.prepare_value(list(initial or [])).strip())


def _quoted(word: str) -> str:
    needed = "," in word or word.lstrip().startswith('"')
    return '"' + word.replace('"', '""') + '"' if needed else word
