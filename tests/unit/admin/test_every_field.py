"""No field of a routine is forgotten by its form."""

from __future__ import annotations

from django.contrib.admin.utils import flatten_fieldsets

from routines_app.admin.form import NOT_IN_THE_FORM, OWN_FIELDS
from routines_app.admin.form_page import FIELDSETS
from routines_app.models import Routine
from routines_app.verbs.checking.validation import FIELDS

STORED = {field.name for field in Routine._meta.concrete_fields}
TYPED = set(flatten_fieldsets(FIELDSETS))


def test_each_field_is_in_a_fieldset_or_left_out_on_purpose() -> None:
    """Django would leave a forgotten one out of the form without a word."""
    forgotten = sorted(STORED - TYPED - NOT_IN_THE_FORM.keys())
    assert not forgotten, f"in no fieldset of admin/form_page.py, nor in NOT_IN_THE_FORM of admin/form.py: {forgotten}"


def test_what_is_left_out_exists_and_is_nowhere_in_the_form() -> None:
    """The list of exceptions stays as true as the model is."""
    unknown = sorted(NOT_IN_THE_FORM.keys() - STORED)
    assert not unknown, f"in NOT_IN_THE_FORM, but no field of a routine: {unknown}"
    both = sorted(NOT_IN_THE_FORM.keys() & TYPED)
    assert not both, f"in NOT_IN_THE_FORM and in a fieldset: {both}"


def test_the_form_asks_for_exactly_what_the_service_accepts() -> None:
    """A field without a rule would be typed and refused; a rule without a field could not be used here."""
    differing = sorted((TYPED - set(OWN_FIELDS)) ^ FIELDS.keys())
    assert not differing, f"in a fieldset or among the service's rules, but not in both: {differing}"
