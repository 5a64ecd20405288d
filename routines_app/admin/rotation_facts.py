"""What the page of a rotation tells: its picks, its ticks, its seeding and its samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext, pgettext_lazy

from routines_app import service
from routines_app.admin.charts import PhaseStep, Sample, Share, Tick, phase_strip, shares, tick_strip
from routines_app.admin.charts.tick_strip import SLOTS as TICKS
from routines_app.admin.phrases import clock_time, seconds_in_words
from routines_app.admin.run_facts import run_url
from routines_app.admin.shown_values import masked_json, masked_text
from routines_app.admin.translating import grouped
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Rotation, RotationSample, RoutineRun

PICKS = 10
TOLD_TICKS = 8  # in the table beneath the strip
PICKED_SHOWN = 64  # members that these have picked
DRAWN = 300  # moments on the chart: more would be a smear
SEEDING = "seed"
OUTCOMES = {Reason.PICKED: "picked", Reason.IDLE: "idle", Reason.FULL: "full"}
OUTCOME_LABELS = {
    "picked": pgettext_lazy("outcome of a tick", "Picked"),
    "idle": pgettext_lazy("outcome of a tick", "Idle"),
    "full": pgettext_lazy("outcome of a tick", "Full"),
    "failed": pgettext_lazy("outcome of a tick", "Failed"),
    "other": pgettext_lazy("outcome of a tick", "Other"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A member that is under way or comes next, with its strip."""

    pick: service.Pick
    strip: SafeString


def under_way(status: service.RotationStatus) -> list[Picked]:
    return [Picked(pick=pick, strip=_strip(pick, "running")) for pick in status.under_way]


def next_picks(status: service.RotationStatus) -> list[Picked]:
    return [Picked(pick=pick, strip=_strip(pick, "next")) for pick in status.next_picks]


def _strip(pick: service.Pick, here: str) -> SafeString:
    """Of a pick only the phase that it is about has a name."""
    unnamed = _("phase {number}")
    names = [
        pick.phase if place == pick.phase_number else unnamed.format(number=place + 1) for place in range(pick.phases)
    ]
    states = ["done"] * pick.phase_number + [here] + ["later"] * (pick.phases - pick.phase_number - 1)
    return phase_strip([PhaseStep(name, state) for name, state in zip(names, states, strict=False)])


def shares_of(status: service.RotationStatus) -> SafeString:
    """How many members stand where, as a bar."""
    owed, in_flight, fresh = status.owed, status.in_flight, status.fresh
    failing, left_out = status.failing, status.left_out
    said = {
        "owed": (owed, npgettext("members", "{count} owed", "{count} owed", owed)),
        "in-flight": (in_flight, npgettext("members", "{count} in flight", "{count} in flight", in_flight)),
        "fresh": (fresh, npgettext("members", "{count} fresh", "{count} fresh", fresh)),
        "failing": (failing, npgettext("members", "{count} failing", "{count} failing", failing)),
        "left-out": (left_out, npgettext("members", "{count} left out", "{count} left out", left_out)),
    }
    return shares(
        [
            Share(kind=kind, label=label.format(count=grouped(count)), count=count)
            for kind, (count, label) in said.items()
        ]
    )


def idle_in_words(status: service.RotationStatus) -> str:
    """What the idle multiplier means now."""
    if status.idle_multiplier <= 1:
        return _("Awake: every tick looks for owed members.")
    left, ticks = status.skip_ticks, status.idle_multiplier
    if not left:
        told = _("Nothing was owed: of {ticks} ticks one looks, the next tick looks. Any success wakes it.")
        return told.format(ticks=ticks)
    return ngettext(
        "Nothing was owed: of {ticks} ticks one looks, the next look comes after {count} more. Any success wakes it.",
        "Nothing was owed: of {ticks} ticks one looks, the next look comes after {count} more. Any success wakes it.",
        left,
    ).format(ticks=ticks, count=left)


def recent_ticks(rotation: Rotation) -> list[RoutineRun]:
    """The newest first, without what each of them saw."""
    runs = RoutineRun.objects.filter(routine_id=rotation.pk).exclude(phase=SEEDING)
    return list(runs.defer(*service.LARGE_FIELDS, "progress").order_by("-id")[:TICKS])


def strip_of(ticks: Sequence[RoutineRun]) -> SafeString:
    return tick_strip(
        [Tick(outcome=outcome_of(run), label=_tick_label(run), href=run_url(run)) for run in reversed(ticks)]
    )


def outcome_of(run: RoutineRun) -> str:
    if run.status == RunStatus.FAILED:
        return "failed"
    return OUTCOMES.get(Reason(run.reason), "other") if run.reason in set(Reason) else "other"


def _tick_label(run: RoutineRun) -> str:
    said = [str(OUTCOME_LABELS[outcome_of(run)]), clock_time(run.scheduled_for, timezone.get_current_timezone())]
    said += [_("by hand, {who}").format(who=run.requested_by)] if run.requested_by else []
    return " · ".join(said)


@dataclass(frozen=True, slots=True)
class ToldTick:
    """A tick and what it fired."""

    run: RoutineRun
    outcome: str
    picked: Sequence[RoutineRun]


def told_ticks(ticks: Sequence[RoutineRun]) -> list[ToldTick]:
    """The newest few, with the runs of their members in one query."""
    shown = ticks[:TOLD_TICKS]
    fired = picked_by([run.pk for run in shown], PICKED_SHOWN)
    return [ToldTick(run, outcome_of(run), fired[run.pk]) for run in shown]


def picked_by(ticks: Sequence[UUID], most: int) -> dict[UUID, list[RoutineRun]]:
    """The runs that ticks have fired: of members, not the seeding beside them."""
    found: dict[UUID, list[RoutineRun]] = defaultdict(list)
    runs = RoutineRun.objects.filter(tick__in=ticks).exclude(phase=SEEDING) if ticks else RoutineRun.objects.none()
    shown = runs.select_related("routine").only("status", "reason", "phase", "tick", "attempt", "routine__name")
    for run in shown.order_by("-id")[:most]:
        if run.tick is not None:
            found[run.tick].append(run)
    return found


def seeding_of(status: service.RotationStatus) -> dict[str, Any]:
    """The last seeding, and why it failed if it did."""
    run = status.last_seeding
    if run is None:
        return {}
    error = masked_text(run.error) if run.error else ""
    result = masked_json(run.result) if run.result is not None else ""
    return {"run": run, "error": error, "result": result, "at": run.completed_at or run.started_at or run.eligible_at}


@dataclass(frozen=True, slots=True)
class ShownPhase:
    name: str
    task: str
    arguments: str
    """Those that differ from the routine's, masked; empty: none do."""


def phases_shown(phases: Any) -> list[ShownPhase]:
    """Of a rotation or of a member; plain SQL can put anything there."""
    found = phases if isinstance(phases, list) else []
    return [_shown_phase(phase) for phase in found if isinstance(phase, dict)]


def _shown_phase(phase: dict[str, Any]) -> ShownPhase:
    given = {part: phase[part] for part in ("args", "kwargs") if part in phase}
    return ShownPhase(str(phase.get("name", "")), str(phase.get("task", "")), masked_json(given) if given else "")


def samples_since(rotation: Rotation, start: datetime) -> list[Sample]:
    """At most so many: of those that fall together the worst is kept, so that no peak is lost."""
    kept = RotationSample.objects.filter(rotation_id=rotation.pk, at__gte=start).order_by("at")
    rows = list(kept.values_list("at", "stalest_seconds", "median_seconds", "owed", "failing"))
    together = max(1, -(-len(rows) // DRAWN))
    groups = [rows[place : place + together] for place in range(0, len(rows), together)]
    return [_sample(max(group, key=lambda row: row[1] or 0.0)) for group in groups]


def _sample(row: tuple[datetime, float | None, float | None, int, int]) -> Sample:
    at, stalest, median, owed, failing = row
    said = [clock_time(at)]
    said += [_("stalest {length}").format(length=seconds_in_words(stalest))] if stalest is not None else []
    said += [_("median {length}").format(length=seconds_in_words(median))] if median is not None else []
    said.append(_("{owed} owed, {failing} failing").format(owed=grouped(owed), failing=grouped(failing)))
    return Sample(at=at, stalest=stalest, median=median, label=" · ".join(said))
