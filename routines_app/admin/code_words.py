"""Stored codes as people call them, where a page has only the code and not the field that it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.utils.translation import pgettext, pgettext_lazy

from routines_app import service
from routines_app.core.words import Priority, Reason, RoutineStatus, RunStatus, RunTrigger
from routines_app.models.choices import choices_of

VERDICTS = {
    service.Verdict.START: pgettext_lazy("what becomes of a candidate", "Start"),
    service.Verdict.HOLD: pgettext_lazy("what becomes of a candidate", "Hold"),
    service.Verdict.SKIP: pgettext_lazy("what becomes of a candidate", "Skip"),
    service.Verdict.REPLACE: pgettext_lazy("what becomes of a candidate", "Replace"),
}
STATUSES = (RunStatus, RoutineStatus)
TABLES = (*STATUSES, RunTrigger, Reason, Priority)


def status_label(code: str) -> str:
    """`SUCCESS` as `Success`: what became of a run or is true of a routine, or a verdict of the plan."""
    if code in set(service.Verdict):
        return str(VERDICTS[service.Verdict(code)])
    return _label(code, STATUSES)


def code_in_words(code: str) -> str:
    """`catch_up` as `catch up`: a status, trigger, reason or priority among other words."""
    label = _label(code, TABLES)
    # Translators: "yes" if a word inside a sentence begins with a small letter: "catch up", not "Catch up".
    begins_small = pgettext("yes, if words within a sentence begin with a small letter; else no", "yes")
    return label[:1].lower() + label[1:] if begins_small == "yes" else label


def _label(code: str, tables: Sequence[type[StrEnum]]) -> str:
    """From the first table that has it; a code that nobody knows (a newer version wrote it), as it is spelled."""
    found = (dict(choices_of(table)).get(code) for table in tables)
    label = next((one for one in found if one), None)
    return code.replace("_", " ").replace("-", " ").capitalize() if label is None else str(label)
