"""What the service refuses, in the language of whoever looks, at the field that it is about."""

from __future__ import annotations

from django.forms import BaseForm

from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError


def refuse(form: BaseForm, refused: RoutineError) -> None:
    """Show what the service said where the person can mend it."""
    if refused.field in form.fields:
        form.add_error(refused.field, as_sentence(refused.expected))
    else:
        form.add_error(None, translated(refused))


def as_sentence(said: str) -> str:
    """What would be right, standing by itself: with a capital and a full stop."""
    text = translated(said)
    return f"{text[:1].upper()}{text[1:]}."
