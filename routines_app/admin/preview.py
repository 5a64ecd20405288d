"""The live preview beside the routine form: words, fires, warnings and what would change."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import zip_longest
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from routines_app import service
from routines_app.admin.bounds import refusal_of
from routines_app.admin.phrases import date_in_words, in_zone, schedule_in_words
from routines_app.admin.preview_warnings import warnings_about
from routines_app.admin.refusals import as_sentence
from routines_app.admin.translating import grouped, translated
from routines_app.admin.verb_forms import LocalMomentField
from routines_app.core.errors import RoutineError
from routines_app.core.words import TriggerKind
from routines_app.models import Routine
from routines_app.service import CronTrigger, ManualTrigger, Slots, Trigger, count_between, next_slot, slots_between

FIRES = 10
WEEK = timedelta(days=7)
COMPARED = 2_000  # slots of a week that are listed; of faster schedules only their number is compared
SHOWN = 5


@dataclass(slots=True)
class Draft:
    """The schedule as it is typed now; `errors` says, by field, what is wrong with it."""

    trigger: Trigger = field(default_factory=ManualTrigger)
    words: str = ""
    zone: str = "UTC"
    errors: dict[str, str] = field(default_factory=dict)


@require_POST
def preview(request: HttpRequest, *, may_view: bool) -> HttpResponse:
    """What the typed schedule means: a fragment for the page, and errors by field."""
    if refused := refusal_of(request, service.LONGEST_QUESTION):
        return refused
    now = service.now()
    # Ids can be guessed: who may not look at routines is told nothing about a saved one.
    saved = _saved(request.POST.get("routine", "")) if may_view else None
    draft = read_draft(request.POST, saved, now)
    context = {
        "draft": draft,
        "fires": _fires(draft, now),
        "page_zone": timezone.get_current_timezone_name(),
        "warnings": warnings_about(request.POST, draft.trigger, saved, now) if not draft.errors else [],
        "comparison": _compare(draft, saved, now) if not draft.errors else None,
        "opinion": _second_opinion(draft, now),
    }
    html = render_to_string("routines/preview.html", context)
    return JsonResponse({"html": html, "errors": draft.errors})


def read_draft(data: QueryDict, saved: Routine | None, now: datetime) -> Draft:
    """The trigger that the typed values make."""
    draft = Draft()
    kind = data.get("trigger_kind", "")
    zone = _read(draft, "timezone", data)
    draft.zone = zone or "UTC"
    start, end = _moment(draft, "start_at", data, saved), _moment(draft, "end_at", data, saved)
    if start and end and end < start:
        draft.errors["end_at"] = _("The end is before the start.")
    bounds = {"timezone": zone, "start_at": start, "end_at": end}
    if kind == TriggerKind.CRON:
        cron = _read(draft, "cron", data)
        if not draft.errors:
            draft.trigger = service.drafted_trigger(saved, kind=TriggerKind.CRON, cron=cron, now=now, **bounds)
            draft.words = schedule_in_words(kind, cron, None, zone)
    elif kind == TriggerKind.INTERVAL:
        interval = _read(draft, "interval_ms", data)
        if not draft.errors:
            draft.trigger = service.drafted_trigger(
                saved, kind=TriggerKind.INTERVAL, interval_ms=interval, now=now, **bounds
            )
            draft.words = schedule_in_words(kind, "", interval, "")
    elif kind == TriggerKind.ONCE:
        once_at = _moment(draft, "once_at", data, saved)
        if once_at is not None and not draft.errors:
            draft.trigger = service.drafted_trigger(saved, kind=TriggerKind.ONCE, once_at=once_at, now=now, **bounds)
            draft.words = schedule_in_words(kind, "", None, zone, once_at)
    draft.words = draft.words or ("" if draft.errors else schedule_in_words(kind, "", None, ""))
    return draft


def _read(draft: Draft, name: str, data: QueryDict) -> Any:
    try:
        return service.clean_value(name, data.get(name, "").strip())
    except RoutineError as error:
        draft.errors[name] = as_sentence(error.expected)
        return None


def _moment(draft: Draft, name: str, data: QueryDict, saved: Routine | None) -> datetime | None:
    picker = LocalMomentField(required=False)
    picker.stored = getattr(saved, name, None)
    try:
        found: datetime | None = service.clean_value(name, picker.clean(data.get(name, "")))
    except ValidationError as error:
        draft.errors[name] = " ".join(error.messages)
    except RoutineError as error:
        draft.errors[name] = as_sentence(error.expected)
    else:
        return found
    return None


def _saved(routine_id: str) -> Routine | None:
    if not service.is_id(routine_id):
        return None
    return Routine.objects.select_related("state").filter(pk=int(routine_id), state__isnull=False).first()


def _fires(draft: Draft, now: datetime) -> list[dict[str, Any]]:
    there, here = ZoneInfo(draft.zone), timezone.get_current_timezone()
    found: list[dict[str, Any]] = []
    slot = next_slot(draft.trigger, now) if not draft.errors else None
    while slot is not None and len(found) < FIRES:
        found.append({"at": slot, "there": _clock(slot, there, now), "here": _clock(slot, here, now)})
        slot = next_slot(draft.trigger, slot)
    return found


def _second_opinion(draft: Draft, now: datetime) -> dict[str, Any] | None:
    """What croniter makes of the cron, beside what we do; None where both say the same."""
    if draft.errors or not isinstance(draft.trigger, CronTrigger):
        return None
    found = service.second_opinion(draft.trigger.expression, now)
    if found is None:
        return None
    both = zip_longest(found.ours, found.theirs)
    fires = [[_clock(at, UTC, now) if at else "" for at in pair] for pair in both]
    return {"reason": translated(found.reason), "fires": fires}


def _clock(at: datetime, zone: tzinfo, now: datetime) -> str:
    local = in_zone(at, zone)
    seconds = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return _("{weekday} {date}, {time}").format(
        weekday=date_format(local, "D"), date=date_in_words(local, in_zone(now, zone)), time=seconds
    )


def _compare(draft: Draft, saved: Routine | None, now: datetime) -> dict[str, Any] | None:
    """The fires of the coming week, before and after; None when nothing would change."""
    if saved is None:
        return None
    try:
        old = service.stored_trigger(saved)
        before, after = _week(old, now), _week(draft.trigger, now)
        counts = {"before": _count(old, now), "after": _count(draft.trigger, now)}
    except RoutineError:  # the saved schedule is corrupt, and this one mends it
        return None
    if before == after and counts["before"] == counts["after"]:
        return None
    if before.truncated or after.truncated:
        return {**counts, "added": [], "removed": []}
    zone = ZoneInfo(draft.zone)
    gone, new = set(before.slots) - set(after.slots), set(after.slots) - set(before.slots)
    return {
        **counts,
        "added": [_clock(slot, zone, now) for slot in sorted(new)[:SHOWN]],
        "removed": [_clock(slot, zone, now) for slot in sorted(gone)[:SHOWN]],
        "more_added": max(0, len(new) - SHOWN),
        "more_removed": max(0, len(gone) - SHOWN),
    }


def _week(trigger: Trigger, now: datetime) -> Slots:
    return slots_between(trigger, now, now + WEEK, COMPARED)


def _count(trigger: Trigger, now: datetime) -> str:
    span = count_between(trigger, now, now + WEEK)
    return "0" if span is None else grouped(span.count)
