"""Routines beside an old scheduler: does that still fire, and does it fire what is ours by now?"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet

from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import MovedEntry, OldFire, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.doctor.answers import MOST_NAMED, Answer, error, ok, some_of, warning

SILENT = timedelta(minutes=10)  # after a slot, before its old scheduler is missed
AFTERWARDS = timedelta(minutes=1)  # of a switch-over: clocks differ
LATELY = timedelta(days=1)


def shadow() -> Answer:
    """One line for all of them."""
    moved, now = _active(), clock.now()
    fires = OldFire.objects.using(ledger_alias()).filter(scheduler=OuterRef("scheduler"), key=OuterRef("key"))
    lately = fires.filter(fired_at__gt=now - LATELY)
    late = lately.filter(fired_at__gt=OuterRef("switched_at") + AFTERWARDS)
    if twice := _names(moved.filter(Exists(late), switched_at__isnull=False, routine__shadow=False)):
        return error(
            f"fired by their old scheduler after the switch-over {twice}",
            "disable their old entries: each slot is fired twice",
        )
    in_shadow = moved.filter(routine__shadow=True)
    if halfway := _names(in_shadow.filter(disabled_at__lt=now - SILENT)):
        return error(
            f"fired by nobody {halfway}", "a switch-over has not come to its end: run manage.py routines switch-over"
        )
    slots = RoutineRun.objects.using(ledger_alias()).filter(
        routine_id=OuterRef("routine_id"), reason=Reason.SHADOW, scheduled_for__lt=now - SILENT
    )
    due_lately = Exists(slots.filter(scheduled_for__gt=now - LATELY))
    if silent := _names(in_shadow.filter(due_lately, ~Exists(lately))):
        return warning(
            f"no fire of their old scheduler was seen for a day {silent}",
            "see that the old beat runs, with routines_app in INSTALLED_APPS",
        )
    number = in_shadow.count()
    return ok(f"{number} in shadow" if number else "none")


def _active() -> QuerySet[MovedEntry]:
    return MovedEntry.objects.using(ledger_alias()).filter(routine__status=RoutineStatus.ACTIVE)


def _names(entries: QuerySet[MovedEntry]) -> str:
    """How many, and the first of them; empty: none."""
    names = list(entries.order_by("routine__name").values_list("routine__name", flat=True)[:MOST_NAMED])
    count = entries.count() if names else 0
    return f"{count}: {some_of(names, count - MOST_NAMED)}" if count else ""
