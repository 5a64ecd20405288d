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
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin.form_fields import SECRETS_BY_NAME, DurationField, JSONListField, JSONObjectField
from routines_app.admin.page_zone import FIELD
from routines_app.core.words import CatchUpPolicy

RELEASES = [
    (CatchUpPolicy.SKIP.value, gettext_lazy("Skip them")),
    (CatchUpPolicy.LAST.value, gettext_lazy("Run the last one")),
    (CatchUpPolicy.ALL.value, gettext_lazy("Run all of them")),
]
ITSELF_AGAIN = gettext_lazy("Then the schedule is itself again. Empty: one hour.")


def _with_zone(words: object) -> str:
    zone = _("Times are in {zone}.").format(zone=timezone.get_current_timezone_name())
    return f"{words} {zone}".strip()


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
        label=gettext_lazy("Why"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Kept in the history, with your name."),
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )

    done: str = ""
    """What the verb said that it has done."""

    @property
    def wants(self) -> dict[str, Any]:
        """The cleaned values that were given."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class PauseForm(VerbForm):
    until = LocalMomentField(
        label=pgettext_lazy("before a time", "Until"),
        required=False,
        help_text=gettext_lazy("Empty: until somebody resumes it."),
    )

    field_order = ["reason", "until"]


class ResumeForm(VerbForm):
    release = forms.ChoiceField(
        label=gettext_lazy("Slots that the pause kept from firing"),
        choices=RELEASES,
        initial=CatchUpPolicy.SKIP.value,
        widget=forms.RadioSelect,
    )

    field_order = ["release", "reason"]


class GiveBackForm(VerbForm):
    field = forms.CharField(
        label=gettext_lazy("Which field"),
        required=False,
        max_length=100,
        help_text=gettext_lazy("As it is called in code: cron, timeout_ms. Empty: all that differ."),
    )

    field_order = ["field", "reason"]


class RunForm(VerbForm):
    """The arguments start as the routine's own, or as those of the run that this one should be like."""

    like = forms.UUIDField(required=False, widget=forms.HiddenInput)
    idempotency_key = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)
    args = JSONListField(
        label=gettext_lazy("Arguments"),
        required=False,
        help_text=gettext_lazy("A JSON list. Empty: the routine's own."),
    )
    kwargs = JSONObjectField(
        label=gettext_lazy("Named arguments"),
        required=False,
        help_text=format_lazy("{} {}", gettext_lazy("A JSON object. Empty: its own."), SECRETS_BY_NAME),
    )
    read_version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    field_order = ["args", "kwargs", "reason"]


class HintIntervalForm(VerbForm):
    interval = DurationField(
        label=gettext_lazy("Interval"), help_text=gettext_lazy("Fire this often instead: 30s, 10m, 1.5h, 1d.")
    )
    ttl = DurationField(label=gettext_lazy("For how long"), required=False, help_text=ITSELF_AGAIN)

    field_order = ["interval", "ttl", "reason"]


class HintTimeForm(VerbForm):
    at = LocalMomentField(label=gettext_lazy("Next fire at"))
    ttl = DurationField(
        label=pgettext_lazy("before a length of time", "Valid for"),
        required=False,
        help_text=gettext_lazy(
            "From now; a hint that was not used by then is forgotten. Empty: until 30 minutes after its time."
        ),
    )

    field_order = ["at", "ttl", "reason"]


class HintFactorForm(VerbForm):
    factor = forms.CharField(
        label=gettext_lazy("Factor"),
        max_length=20,
        widget=forms.TextInput(attrs={"class": "rt-short", "autocomplete": "off", "inputmode": "decimal"}),
        help_text=gettext_lazy(
            "5: five times slower, on a cron every fifth slot. 0.5: twice as often, for an interval."
        ),
    )
    ttl = DurationField(label=gettext_lazy("For how long"), required=False, help_text=ITSELF_AGAIN)

    field_order = ["factor", "ttl", "reason"]


class BackfillForm(VerbForm):
    start = LocalMomentField(label=pgettext_lazy("before a time", "From"))
    end = LocalMomentField(label=pgettext_lazy("before a time", "To"), help_text=gettext_lazy("Both included."))
    counted = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)
    """What the page has said that it makes: that, and nothing else, is confirmed."""

    field_order = ["start", "end", "reason"]
