"""What should have fired and has not: a next fire that is past is red, and its routine is no green Active."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.markup import moment, pill, time_as
from routines_app.admin.phrases import largest_unit
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine, RoutineState

GRACE = timedelta(seconds=5)  # a beat that is there claims within a second or two


def is_due_too_long(at: datetime | None, now: datetime) -> bool:
    """Whether a beat should have looked at it by now."""
    return at is not None and now - at > GRACE


def next_fire(at: datetime | None) -> SafeString:
    """When a beat looks at it next; red once that is past."""
    now = service.now()
    if at is None or not is_due_too_long(at, now):
        return moment(at)
    amount = largest_unit((now - at).total_seconds())
    return time_as(_("overdue by {amount}").format(amount=amount), at, class_="rt-late")


def status_pill(routine: Routine, state: RoutineState | None) -> SafeString:
    """A routine's status; of an active one that no beat has claimed in time, that too."""
    at = state.next_run_at if state is not None else None
    if routine.status != RoutineStatus.ACTIVE or not is_due_too_long(at, service.now()):
        return pill(routine.status, title=routine.pause_reason)
    return format_html(
        '<span class="rt-pill rt-is-failed" title="{}">{}</span>',
        _("It is due, and no beat has claimed it."),
        _("Active, overdue"),
    )
