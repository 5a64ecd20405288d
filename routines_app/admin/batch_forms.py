"""What the pages of batches ask for."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from routines_app.admin.verb_forms import LocalMomentField, VerbForm

BY = [
    ("tag", gettext_lazy("Tag")),
    ("group", gettext_lazy("Group")),
    ("queue", pgettext_lazy("of a broker", "Queue")),
    ("pool", gettext_lazy("Pool")),
]
NAME = forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"})


class BatchForm(VerbForm):
    """Which routines, and what their pause is called. A list's filter says which by itself."""

    by = forms.ChoiceField(label=gettext_lazy("All routines of this"), choices=BY)
    value = forms.CharField(
        label=gettext_lazy("Which one"),
        max_length=255,
        widget=NAME,
        help_text=gettext_lazy("Its name, as routines have it."),
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the batch"),
        max_length=100,
        widget=NAME,
        help_text=gettext_lazy("By it the routines are resumed again."),
    )
    until = LocalMomentField(
        label=pgettext_lazy("before a time", "Until"),
        required=False,
        help_text=gettext_lazy("Empty: until somebody resumes it."),
    )
    filter = forms.CharField(required=False, widget=forms.HiddenInput)
    counted = forms.CharField(required=False, widget=forms.HiddenInput)

    field_order = ["by", "value", "name", "reason", "until"]

    def __init__(self, *args: Any, by_filter: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if by_filter:
            del self.fields["by"], self.fields["value"]

    @property
    def chosen(self) -> str:
        """What is meant, as text: only what was counted is done."""
        wants = self.wants
        return f"{wants['by']} {wants['value']}" if "by" in wants else f"filter {wants.get('filter', '')}"
