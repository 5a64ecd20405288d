"""What each verb asks for before it acts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app.admin.form_fields import SECRETS_BY_NAME, DurationField, JSONListField, JSONObjectField
from routines_app.admin.page_zone import FIELD
from routines_app.core.words import CatchUpPolicy

RELEASES = [
    (CatchUpPolicy.SKIP.value, "Skip them"),
    (CatchUpPolicy.LAST.value, "Run the last one"),
    (CatchUpPolicy.ALL.value, "Run all of them"),
]


def _with_zone(words: object) -> str:
    return f"{words} Times are in {timezone.get_current_timezone_name()}.".strip()


with_zone = lazy(_with_zone, str)  # fields are made once, when no request has chosen its timezone yet


class LocalMomentInput(forms.DateTimeInput):
    """The browser's own picker, and beside it the zone in which the page says that times are: what was typed means the
    same when it arrives, whatever has been chosen meanwhile."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        picker = super().render(name, value, attrs, renderer)
        zone = timezone.get_current_timezone_name()
        return format_html('{}<input type="hidden" name="{}" value="{}">', picker, FIELD, zone)


class LocalMomentField(forms.DateTimeField):
    """A date and time in the timezone of the page."""

    stored: datetime | None = None
    """What a form was filled with. The picker shows less: no part of a second, and not which 02:30 in autumn."""

    widget = LocalMomentInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.help_text = with_zone(self.help_text)

    def clean(self, value: Any) -> Any:
        return self.stored if self._is_stored(value) else super().clean(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self._is_stored(data) and super().has_changed(initial, data)

    def _is_stored(self, text: Any) -> bool:
        """Whether the text is what the picker shows for the stored time; browsers may leave out the seconds."""
        if self.stored is None or not isinstance(text, str):
            return False
        try:
            return parse_datetime(text.strip()) == timezone.make_naive(self.stored).replace(microsecond=0, fold=0)
        except ValueError:
            return False


class VerbForm(forms.Form):
    """Every verb may be given a reason; it is kept with who did it."""

    reason = forms.CharField(
        label="Why",
        required=False,
        max_length=500,
        help_text="Kept in the history, with your name.",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )

    done: str = ""
    """What the verb said that it has done."""

    @property
    def wants(self) -> dict[str, Any]:
        """The cleaned values that were given."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class PauseForm(VerbForm):
    until = LocalMomentField(required=False, help_text="Empty: until somebody resumes it.")

    field_order = ["reason", "until"]


class ResumeForm(VerbForm):
    release = forms.ChoiceField(
        label="Slots that the pause kept from firing",
        choices=RELEASES,
        initial=CatchUpPolicy.SKIP.value,
        widget=forms.RadioSelect,
    )

    field_order = ["release", "reason"]


class GiveBackForm(VerbForm):
    field = forms.CharField(
        label="Which field",
        required=False,
        max_length=100,
        help_text="As it is called in code: cron, timeout_ms. Empty: all that differ.",
    )

    field_order = ["field", "reason"]


class RunForm(VerbForm):
    """The arguments start as the routine's own, or as those of the run that this one should be like."""

    like = forms.UUIDField(required=False, widget=forms.HiddenInput)
    idempotency_key = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    args = JSONListField(label="Arguments", required=False, help_text="A JSON list. Empty: the routine's own.")
    kwargs = JSONObjectField(
        label="Named arguments", required=False, help_text=f"A JSON object. Empty: its own. {SECRETS_BY_NAME}"
    )
    read_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    field_order = ["args", "kwargs", "reason"]


class HintIntervalForm(VerbForm):
    interval = DurationField(help_text="Fire this often instead: 30s, 10m, 1.5h, 1d.")
    ttl = DurationField(
        label="For how long", required=False, help_text="Then the schedule is itself again. Empty: one hour."
    )

    field_order = ["interval", "ttl", "reason"]


class HintTimeForm(VerbForm):
    at = LocalMomentField(label="Next fire at")
    ttl = DurationField(
        label="Valid for",
        required=False,
        help_text="From now; a hint that was not used by then is forgotten. Empty: until 30 minutes after its time.",
    )

    field_order = ["at", "ttl", "reason"]


class HintFactorForm(VerbForm):
    factor = forms.CharField(
        max_length=20,
        widget=forms.TextInput(attrs={"class": "rt-short", "autocomplete": "off", "inputmode": "decimal"}),
        help_text="5: five times slower, on a cron every fifth slot. 0.5: twice as often, for an interval.",
    )
    ttl = DurationField(
        label="For how long", required=False, help_text="Then the schedule is itself again. Empty: one hour."
    )

    field_order = ["factor", "ttl", "reason"]


class BackfillForm(VerbForm):
    start = LocalMomentField(label="From")
    end = LocalMomentField(label="To", help_text="Both included.")
    counted = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    """What the page has said that it makes: that, and nothing else, is confirmed."""

    field_order = ["start", "end", "reason"]
