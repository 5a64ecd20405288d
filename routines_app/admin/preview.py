"""The live preview beside the routine form: words, fires, warnings and what would change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.http import HttpRequest, JsonResponse, QueryDict
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_POST

from routines_app.admin.phrases import schedule_in_words
from routines_app.admin.preview_warnings import warnings_about
from routines_app.admin.verb_forms import LocalMomentField
from routines_app.core.cron import validate_timezone
from routines_app.core.errors import InvalidValue, RoutineError
from routines_app.core.triggers import (
    CronTrigger,
    IntervalTrigger,
    ManualTrigger,
    Slots,
    Trigger,
    next_slot,
    slots_between,
)
from routines_app.core.words import TriggerKind
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.plan.leaving import last_left_behind
from routines_app.protocol.plan.planning import anchor_of, trigger_of
from routines_app.verbs.checking.lookup import is_id
from routines_app.verbs.checking.validation import FIELDS
from routines_app.verbs.update import kept_last_slot

FIRES = 10
WEEK = timedelta(days=7)
COMPARED = 2_000  # slots of a week; of faster schedules only the pace is compared
SHOWN = 5


@dataclass(slots=True)
class Draft:
    """The schedule as it is typed now; `errors` says, by field, what is wrong with it."""

    trigger: Trigger = field(default_factory=ManualTrigger)
    words: str = ""
    zone: str = "UTC"
    errors: dict[str, str] = field(default_factory=dict)


@require_POST
def preview(request: HttpRequest) -> JsonResponse:
    """What the typed schedule means: a fragment for the page, and errors by field."""
    now = clock.now()
    saved = _saved(request.POST.get("routine", ""))
    draft = read_draft(request.POST, saved, now)
    context = {
        "draft": draft,
        "fires": _fires(draft, now, request.POST.get("viewer_timezone", "")),
        "viewer": _known_zone(request.POST.get("viewer_timezone", "")),
        "warnings": warnings_about(request.POST, draft.trigger, saved, now) if not draft.errors else [],
        "comparison": _compare(draft, saved, now) if not draft.errors else None,
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
        draft.errors["end_at"] = "The end is before the start."
    if kind == TriggerKind.CRON:
        cron = _read(draft, "cron", data)
        if not draft.errors:
            draft.trigger = CronTrigger(expression=cron, timezone=zone, start_at=start, end_at=end)
            draft.words = schedule_in_words(kind, cron, None, zone)
    elif kind == TriggerKind.INTERVAL:
        interval = _read(draft, "interval_ms", data)
        if not draft.errors:
            trigger = IntervalTrigger(interval_ms=interval, anchor=start or now, start_at=start, end_at=end)
            draft.trigger = trigger if saved is None else _counted_on(trigger, zone, saved, now)
            draft.words = schedule_in_words(kind, "", interval, "")
    draft.words = draft.words or ("" if draft.errors else schedule_in_words(kind, "", None, ""))
    return draft


def _counted_on(typed: IntervalTrigger, zone: str, saved: Routine, now: datetime) -> IntervalTrigger:
    """From the anchor that saving would leave: an edit skips what is owed, and may forget the last slot."""
    as_saved = (saved.interval_ms, saved.start_at, saved.end_at, saved.timezone)
    if (typed.interval_ms, typed.start_at, typed.end_at, zone) == as_saved:
        return replace(typed, anchor=anchor_of(saved, saved.state))
    last_slot = kept_last_slot(TriggerKind.INTERVAL, typed.start_at, last_left_behind(saved, saved.state, now))
    return replace(typed, anchor=last_slot or typed.start_at or saved.created_at)


def _read(draft: Draft, name: str, data: QueryDict) -> Any:
    try:
        return FIELDS[name](name, data.get(name, "").strip())
    except RoutineError as error:
        draft.errors[name] = _sentence(error)
        return None


def _sentence(error: RoutineError) -> str:
    return f"{error.expected[:1].upper()}{error.expected[1:]}."


def _moment(draft: Draft, name: str, data: QueryDict, saved: Routine | None) -> datetime | None:
    picker = LocalMomentField(required=False)
    picker.stored = getattr(saved, name, None)
    try:
        found: datetime | None = FIELDS[name](name, picker.clean(data.get(name, "")))
    except ValidationError as error:
        draft.errors[name] = " ".join(error.messages)
    except RoutineError as error:
        draft.errors[name] = _sentence(error)
    else:
        return found
    return None


def _saved(routine_id: str) -> Routine | None:
    if not is_id(routine_id):
        return None
    return Routine.objects.select_related("state").filter(pk=int(routine_id), state__isnull=False).first()


def _fires(draft: Draft, now: datetime, viewer: str) -> list[dict[str, Any]]:
    theirs = _known_zone(viewer) or timezone.get_current_timezone_name()
    found: list[dict[str, Any]] = []
    slot = next_slot(draft.trigger, now) if not draft.errors else None
    while slot is not None and len(found) < FIRES:
        found.append({"at": slot, "there": _clock(slot, draft.zone), "here": _clock(slot, theirs)})
        slot = next_slot(draft.trigger, slot)
    return found


def _clock(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    seconds = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a} {local.day} {local:%b}, {seconds}"


def _known_zone(name: str) -> str:
    try:
        return validate_timezone(name)
    except InvalidValue:
        return ""


def _compare(draft: Draft, saved: Routine | None, now: datetime) -> dict[str, Any] | None:
    """The fires of the coming week, before and after; None when nothing would change."""
    if saved is None:
        return None
    try:
        before, after = _week(trigger_of(saved, saved.state), now), _week(draft.trigger, now)
    except RoutineError:  # the saved schedule is corrupt, and this one mends it
        return None
    if before == after:
        return None
    if before.truncated or after.truncated:
        return {"before": _count(before), "after": _count(after), "added": [], "removed": []}
    gone, new = set(before.slots) - set(after.slots), set(after.slots) - set(before.slots)
    return {
        "before": _count(before),
        "after": _count(after),
        "added": [_clock(slot, draft.zone) for slot in sorted(new)[:SHOWN]],
        "removed": [_clock(slot, draft.zone) for slot in sorted(gone)[:SHOWN]],
        "more_added": max(0, len(new) - SHOWN),
        "more_removed": max(0, len(gone) - SHOWN),
    }


def _week(trigger: Trigger, now: datetime) -> Slots:
    return slots_between(trigger, now, now + WEEK, COMPARED)


def _count(slots: Slots) -> str:
    return f"more than {len(slots.slots):,}" if slots.truncated else f"{len(slots.slots):,}"
