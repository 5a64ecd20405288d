"""What the service refuses, at the field that it is about."""

from __future__ import annotations

from django.forms import BaseForm

from routines_app.core.errors import RoutineError


def refuse(form: BaseForm, refused: RoutineError) -> None:
    """Show what the service said where the person can mend it."""
    if refused.field in form.fields:
        form.add_error(refused.field, f"{refused.expected[:1].upper()}{refused.expected[1:]}.")
    else:
        form.add_error(None, str(refused))
