"""One history of a routine: whoever changed it, through whichever door, and each act once.

The ledger's own rows come first: every verb writes one, wherever it was called. Django's log adds what leaves none, as
a run that somebody asked for, and tells of the others that they came through the admin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import pgettext, pgettext_lazy

from routines_app import service
from routines_app.admin.phrases import clock_time
from routines_app.masks import masked, masked_line
from routines_app.models import ChangeKind, Routine, ScheduleChange

if TYPE_CHECKING:
    from routines_app.admin.routines import RoutineAdmin

PAGE = 100
ENTRIES = 300  # of Django's log, of the time that a page shows
SAME_ACT = timedelta(seconds=10)  # the verb's row is written first, the log's entry when the request is answered
COMMAND_LINE = "(command line)"
DOORS = {
    "beat": pgettext_lazy("done through", "beat"),
    "worker": pgettext_lazy("done through", "worker"),
    "code (sync)": pgettext_lazy("done through", "code"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act."""

    at: datetime
    what: str
    who: str
    door: str = ""
    """Through what it was done, where that is known."""
    reason: str = ""
    fields: Sequence[tuple[str, Any, Any]] = ()
    change_id: int | None = None


def history_page(admin: RoutineAdmin, request: HttpRequest, object_id: int) -> TemplateResponse:
    """All of it, a page at a time."""
    routine = admin.routine_or_404(request, object_id)
    changes = ScheduleChange.objects.filter(routine_id=routine.pk)
    before = request.GET.get("before", "")
    if service.is_id(before):
        changes = changes.filter(pk__lt=int(before))
    found = list(changes[: PAGE + 1])
    shown = found[:PAGE]
    context = {
        **admin.admin_site.each_context(request),
        "title": _("History of {name}").format(name=routine.name),
        "opts": admin.model._meta,
        "section": "routines",
        "routine": routine,
        "history": history_of(routine, shown, newest=not before),
        "older": shown[-1].pk if len(found) > PAGE else None,
    }
    return TemplateResponse(request, "routines/history.html", context)


def history_of(routine: Routine, changes: Sequence[ScheduleChange], *, newest: bool = True) -> list[Entry]:
    """These changes and what Django's log adds to their time, newest first."""
    logged = _logged(routine, changes, newest=newest)
    entries, used = [], set[int]()
    for change in changes:
        twin = next((one for one in logged if one.pk not in used and _is_same(one, change)), None)
        if twin is not None:
            used.add(twin.pk)
        entries.append(_of_change(change, through_admin=twin is not None))
    entries += [_of_log(one) for one in logged if one.pk not in used]
    return sorted(entries, key=lambda entry: entry.at, reverse=True)


def _logged(routine: Routine, changes: Sequence[ScheduleChange], *, newest: bool) -> list[LogEntry]:
    of = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(Routine), object_id=str(routine.pk)
    ).select_related("user")
    if changes:
        of = of.filter(action_time__gte=changes[-1].at - SAME_ACT)
        if not newest:
            of = of.filter(action_time__lte=changes[0].at + SAME_ACT)
    return list(of.order_by("-action_time", "-pk")[:ENTRIES])


def _is_same(entry: LogEntry, change: ScheduleChange) -> bool:
    return change.actor == entry.user.get_username() and abs(entry.action_time - change.at) <= SAME_ACT


def _of_change(change: ScheduleChange, *, through_admin: bool) -> Entry:
    return Entry(
        at=change.at,
        what=change.get_kind_display(),
        who=change.actor.removesuffix(COMMAND_LINE).strip(),
        door=pgettext("done through", "admin") if through_admin else _door(change),
        reason=masked_line(change.reason),
        fields=[] if change.kind == ChangeKind.CREATED else _changed_fields(change),
        change_id=change.pk,
    )


def _door(change: ScheduleChange) -> str:
    if change.kind == ChangeKind.REPLANNED and change.actor == "beat":
        return pgettext("done through", "plain SQL")
    if change.actor.endswith("command line)"):
        return pgettext("done through", "command line")
    return str(DOORS.get(change.actor, ""))


def _of_log(entry: LogEntry) -> Entry:
    said = masked_line(entry.get_change_message())  # it quotes the reason
    return Entry(at=entry.action_time, what=said, who=entry.user.get_username(), door=pgettext("done through", "admin"))


def _changed_fields(change: ScheduleChange) -> list[tuple[str, Any, Any]]:
    before, after = (masked(values) if isinstance(values, dict) else {} for values in (change.before, change.after))
    return [(name, _said(name, before), _said(name, after)) for name in sorted({*before, *after})]


def _said(name: str, values: dict[str, Any]) -> Any:
    value = values.get(name)
    if name.endswith("_ms") and isinstance(value, int):
        return service.format_duration(value)
    return _moment_said(value) if name.endswith(("_at", "_until")) and isinstance(value, str) else value


def _moment_said(text: str) -> str:
    """A time as the page shows times; the text itself where it is none."""
    try:
        at = parse_datetime(text)
    except ValueError:
        return text
    return clock_time(at, timezone.get_current_timezone()) if at and at.tzinfo else text
