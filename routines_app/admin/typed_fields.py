"""The fields of the routine form that are typed: what each is called, and what it asks for.

Durations are text, arguments JSON with secrets masked, and tasks are chosen from the registered ones.
"""

from __future__ import annotations

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin.form_fields import (
    AT_LEAST_A_SECOND,
    SECRETS_BY_NAME,
    WITH_COMMAS,
    DurationField,
    JSONListField,
    JSONObjectField,
    WordsField,
)
from routines_app.admin.task_choices import task_choices
from routines_app.admin.verb_forms import LocalMomentField


class TypedFields(forms.ModelForm):  # type: ignore[type-arg]
    """Only fields: what becomes of them, the form says."""

    tags = WordsField(label=gettext_lazy("Tags"), required=False, help_text=WITH_COMMAS)
    task = forms.ChoiceField(label=gettext_lazy("Task"), choices=task_choices, required=False)
    other_task = forms.CharField(
        label=gettext_lazy("Another task"),
        required=False,
        help_text=gettext_lazy(
            "Instead: the registered name of a task that only its workers know, in another repository say."
        ),
    )
    args = JSONListField(
        label=gettext_lazy("Arguments"), required=False, initial=list, help_text=gettext_lazy("A JSON list.")
    )
    kwargs = JSONObjectField(
        label=gettext_lazy("Named arguments"),
        required=False,
        initial=dict,
        help_text=format_lazy("{} {}", gettext_lazy("A JSON object."), SECRETS_BY_NAME),
    )
    options = JSONObjectField(
        label=gettext_lazy("Message options"),
        required=False,
        help_text=gettext_lazy("A JSON object with any of priority (a number), headers, exchange and routing_key."),
    )
    interval_ms = DurationField(
        label=pgettext_lazy("before a length of time", "Every"), required=False, help_text=AT_LEAST_A_SECOND
    )
    once_at = LocalMomentField(
        label=pgettext_lazy("before a time", "At"),
        required=False,
        help_text=gettext_lazy("It fires then, and never again."),
    )
    timezone = forms.CharField(
        label=gettext_lazy("Timezone"),
        widget=forms.TextInput(attrs={"list": "rt-timezones", "autocomplete": "off"}),
    )
    start_at = LocalMomentField(label=pgettext_lazy("before a time", "Starts"), required=False)
    end_at = LocalMomentField(label=pgettext_lazy("before a time", "Ends"), required=False)
    jitter_ms = DurationField(
        label=gettext_lazy("Jitter"), help_text=gettext_lazy("Delay each start by up to this long.")
    )
    misfire_grace_ms = DurationField(
        label=gettext_lazy("Grace"), help_text=gettext_lazy("A slot that is later than this is missed.")
    )
    catch_up_window_ms = DurationField(
        label=gettext_lazy("Catch-up window"),
        required=False,
        help_text=gettext_lazy("Slots missed longer ago are not caught up."),
    )
    timeout_ms = DurationField(
        label=gettext_lazy("Time-out"),
        required=False,
        help_text=gettext_lazy(
            "1s to 24h; 0s: none. Empty: the task's own limits, and 5 minutes for one that has none."
        ),
    )
    expires_ms = DurationField(
        label=pgettext_lazy("after a length of time", "Expires"),
        required=False,
        help_text=gettext_lazy("Skip a run not started this long after its slot."),
    )
    retry_delay_ms = DurationField(
        label=gettext_lazy("First retry after"), help_text=gettext_lazy("Doubles with each attempt …")
    )
    retry_max_delay_ms = DurationField(
        label=pgettext_lazy("before a length of time", "At most"), help_text=gettext_lazy("… up to this.")
    )
    retry_for = WordsField(
        label=gettext_lazy("Retry for"), required=False, help_text=gettext_lazy("Exception names; empty means all.")
    )
    no_retry_for = WordsField(
        label=gettext_lazy("No retry for"), required=False, help_text=gettext_lazy("Exception names that are final.")
    )
    min_interval_ms = DurationField(label=gettext_lazy("Never more often than"), required=False)
    max_interval_ms = DurationField(label=gettext_lazy("Never less often than"), required=False)
    phases = JSONListField(
        label=gettext_lazy("Phases"),
        required=False,
        help_text=gettext_lazy(
            "Of a rotation's member, a JSON list: what a cycle runs, each with name, task and, where they "
            "differ, args and kwargs. Empty: as the rotation says."
        ),
    )
    change_reason = forms.CharField(
        label=gettext_lazy("Why this change"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    read_version = forms.IntegerField(label="", required=False, widget=forms.HiddenInput)
    start_paused = forms.BooleanField(
        label=gettext_lazy("Paused at first"),
        required=False,
        initial=True,
        help_text=gettext_lazy("Nothing runs twice by mistake: look at the copy, then resume it."),
    )
