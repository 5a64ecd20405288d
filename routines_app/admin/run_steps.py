"""The steps of a run, and how long it took from each to the next: what it waited for, where, and how long it ran.

Only what the row says is told. A run that was handed back has lost the stamps of its first way to the broker, and a
worker may have started it before the beat stamped that it was sent: then two steps are told as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.charts import Stage, waterfall
from routines_app.admin.run_facts import PLANNED
from routines_app.core.words import RunStatus
from routines_app.models import RoutineRun

SLOT, CREATED, ELIGIBLE, ADMITTED, SENT, STARTED, ENDED = (
    "slot", "created", "eligible", "admitted", "sent", "started", "ended",
)  # fmt: skip
BETWEEN = {
    (SLOT, CREATED): gettext_lazy("Until a beat claimed it"),
    (CREATED, ELIGIBLE): gettext_lazy("Waited for its time"),
    (ADMITTED, SENT): gettext_lazy("Waited to be sent"),
    (SENT, STARTED): gettext_lazy("In the broker"),
    (STARTED, ENDED): gettext_lazy("Ran"),
}
UNTIL = {
    ELIGIBLE: gettext_lazy("Until it was eligible"),
    SENT: gettext_lazy("Until it was sent"),
    STARTED: gettext_lazy("Until it started"),
    ENDED: gettext_lazy("Waited until it was ended"),
}
KINDS = {SENT: "sent", STARTED: "broker", ENDED: "ran"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The time between two steps; `lasts` when the second one has not come yet."""

    words: str
    start: datetime
    end: datetime
    kind: str
    lasts: bool = False

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What the page of a run shows of them."""

    created_at: datetime | None
    rows: list[tuple[Wait, SafeString]]
    """Each with its bar."""

    @property
    def seconds(self) -> float:
        """From the first to the last."""
        return (self.rows[-1][0].end - self.rows[0][0].start).total_seconds() if self.rows else 0.0


def steps_of(run: RoutineRun, now: datetime) -> Steps:
    waits = list(_waits(run, now))
    bars = waterfall([Stage(start=wait.start, end=wait.end, kind=wait.kind) for wait in waits])
    return Steps(created_at=_created_at(run, now), rows=list(zip(waits, bars, strict=True)))


def _waits(run: RoutineRun, now: datetime) -> Iterator[Wait]:
    """From each known step to the next one; what has not ended lasts until now."""
    known = [(step, at) for step, at in _stamps(run, now) if at is not None]
    if run.is_active:
        known = [(step, at) for step, at in known if at <= now] + [(_coming(run, now), now)]
    before, since = known[0] if known else ("", now)
    for place, (step, at) in enumerate(known[1:], start=2):
        lasts = run.is_active and place == len(known)
        if at > since or lasts:
            words = _words(run, before, step)
            yield Wait(words=words, start=since, end=max(at, since), kind=_kind(before, step), lasts=lasts)
        before, since = step, max(at, since)


def _stamps(run: RoutineRun, now: datetime) -> list[tuple[str, datetime | None]]:
    """In the order in which they come. Only a first attempt on schedule has waited since its slot."""
    on_schedule = run.trigger in PLANNED and run.attempt == 1
    sent_first = run.dispatched_at is None or run.started_at is None or run.dispatched_at <= run.started_at
    return [
        (SLOT, run.scheduled_for if on_schedule else None),
        (CREATED, _created_at(run, now)),
        (ELIGIBLE, run.eligible_at if run.started_at or run.is_active else None),
        (ADMITTED, run.admitted_at),
        (SENT, run.dispatched_at if sent_first else None),
        (STARTED, run.started_at),
        (ENDED, run.completed_at),
    ]


def _created_at(run: RoutineRun, now: datetime) -> datetime | None:
    """As its id says; None where plain SQL has made the id up, and something is known to have come before that."""
    created = service.run_created_at(run.pk)
    later = (now, run.admitted_at, run.dispatched_at, run.started_at, run.completed_at)
    return created if all(created <= at for at in later if at is not None) else None


def _coming(run: RoutineRun, now: datetime) -> str:
    """The step that an active run waits for."""
    if run.status == RunStatus.RUNNING:
        return ENDED
    if run.dispatched_at is not None:
        return STARTED
    if run.admitted_at is not None:
        return SENT
    return ELIGIBLE if run.eligible_at > now else ADMITTED


def _words(run: RoutineRun, before: str, step: str) -> str:
    if step == ADMITTED:
        return _("Waited in pool {name}").format(name=run.pool.name) if run.pool else _("Held back")
    if step == ELIGIBLE and run.publish_count > 1:
        return str(UNTIL[ELIGIBLE])  # it may have been on its way before, and was handed back
    return str(BETWEEN.get((before, step)) or UNTIL.get(step) or _("Until it was created"))


def _kind(before: str, step: str) -> str:
    return "waited" if step == ENDED and before != STARTED else KINDS.get(step, "waited")
