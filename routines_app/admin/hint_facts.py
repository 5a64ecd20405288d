"""The hints that are in force for a routine, as its page tells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from routines_app.admin.markup import moment
from routines_app.admin.phrases import factor_in_words, interval_in_words
from routines_app.core.words import HintKind
from routines_app.masks import masked_line
from routines_app.models import Hint, RoutineState

SAID: dict[HintKind, tuple[Promise, Callable[[Any], str]]] = {
    HintKind.INTERVAL: (pgettext_lazy("what a hint says", "Every"), interval_in_words),
    HintKind.NEXT: (pgettext_lazy("what a hint says", "Next fire"), moment),
    HintKind.FACTOR: (pgettext_lazy("what a hint says", "Pace"), factor_in_words),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldHint:
    """One hint: what it says, until when, why and by whom."""

    what: str
    value: str
    until: datetime
    why: str
    by: str


def hints_of(state: RoutineState | None, now: datetime) -> list[ToldHint]:
    """The fresh ones. An expired hint may stand in the row until somebody plans: it says nothing any more."""
    return [] if state is None else [_told(hint) for hint in state.fresh_hints(now)]


def under_a_hint(now: datetime) -> Q:
    """Routines with a hint in force, for the list's filter."""
    return (
        Q(state__hint_interval_expires_at__gt=now)
        | Q(state__hint_next_expires_at__gt=now)
        | Q(state__hint_factor_expires_at__gt=now)
    )


def _told(hint: Hint) -> ToldHint:
    what, said = SAID[hint.kind]
    return ToldHint(
        what=str(what), value=said(hint.value), until=hint.expires_at, why=masked_line(hint.reason), by=hint.by
    )
