"""How many of which outcome, in words: `12 success`, `about 3,400 failed`. A part of a list, so without a verb."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from routines_app.admin.translating import grouped

# What is counted decides the form, in languages in which an adjective has one for many.
OUTCOMES = {
    "success": ngettext_lazy("{number} success", "{number} success", "count"),
    "failed": ngettext_lazy("{number} failed", "{number} failed", "count"),
    "running": ngettext_lazy("{number} running", "{number} running", "count"),
    "pending": ngettext_lazy("{number} pending", "{number} pending", "count"),
    "waiting": ngettext_lazy("{number} waiting", "{number} waiting", "count"),
    "skipped": ngettext_lazy("{number} skipped", "{number} skipped", "count"),
    "cancelled": ngettext_lazy("{number} cancelled", "{number} cancelled", "count"),
    "retried": ngettext_lazy("{number} tried again", "{number} tried again", "count"),
    "picked": ngettext_lazy("{number} picked", "{number} picked", "count"),
    "full": ngettext_lazy("{number} full", "{number} full", "count"),
    "idle": ngettext_lazy("{number} idle", "{number} idle", "count"),
    "other": ngettext_lazy("{number} other", "{number} other", "count"),
    "baseline": ngettext_lazy("{number} baseline", "{number} baseline", "count"),
    "hint": ngettext_lazy("{number} hint", "{number} hint", "count"),
    "clamped": ngettext_lazy("{number} clamped", "{number} clamped", "count"),
    "back-off": ngettext_lazy("{number} back-off", "{number} back-off", "count"),
}


def counted(outcome: str, count: int, *, about: bool = False) -> str:
    """An outcome that nobody knows is told as it is spelled."""
    number = _("about {number}").format(number=grouped(count)) if about else grouped(count)
    words = OUTCOMES.get(outcome)
    return f"{number} {outcome}" if words is None else words.format(count=count, number=number)
