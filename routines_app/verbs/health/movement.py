"""Whether the work moves: what is due is claimed, what is claimed is sent, what is sent begins.

One routine that cannot be claimed, or one queue that nobody consumes, is a matter for the doctor. A fleet is unhealthy
when something has stood still for too long and nothing that came after it has gone its way either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, QuerySet

from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.verbs.health.standing import shown
from routines_app.verbs.reading import oldest_run_id

MOST_OVERDUE = 1_000  # that are counted
OVERDUE = timedelta(seconds=60)  # a beat claims what is due within a second or two; more is nobody's normal load
UNSENT_TOO_LONG = timedelta(minutes=1)  # for a beat to publish it
SENT_TOO_LONG = timedelta(minutes=5)  # for a worker to begin it
HEARD = timedelta(minutes=2)  # of a body: several heartbeats, also of a worker that has silent ones
ENDED = (RunStatus.SUCCESS, RunStatus.FAILED)
BY_PEOPLE = (Reason.SUPERSEDED, Reason.PAUSED, Reason.ARCHIVED)  # rows that an edit leaves, and no claim
TO_BE_SENT = (Reason.NONE, Reason.PUBLISH_FAILED, Reason.REDIS_AWAY)  # others wait for something that is no fault


@dataclass(frozen=True, kw_only=True, slots=True)
class Overdue:
    """Routines that a beat should have looked at, and none has."""

    count: int
    """At most MOST_OVERDUE."""
    since: datetime | None
    others_are_claimed: bool = False
    """Something was claimed after the last of them became due: a beat works, and these are passed over."""

    @property
    def is_still(self) -> bool:
        """Nothing moves at all."""
        return self.count > 0 and not self.others_are_claimed

    @property
    def why(self) -> str:
        if not self.count:
            return "nothing is overdue"
        since = f", the first since {shown(self.since)}" if self.since else ""
        others = ", while others are claimed" if self.others_are_claimed else ""
        if self.count == 1:
            return f"1 routine is overdue{since}: no beat claims it{others}"
        more = " or more" if self.count == MOST_OVERDUE else ""
        return f"{self.count}{more} routines are overdue{since}: no beat claims them{others}"


def overdue_routines(now: datetime) -> Overdue:
    """By the index that claims go by: what is not due costs nothing."""
    states = RoutineState.objects.using(ledger_alias()).filter(readable("next_run_at"), next_run_at__lt=now - OVERDUE)
    found = list(states.order_by("next_run_at").values_list("next_run_at", flat=True)[:MOST_OVERDUE])
    if not found:
        return Overdue(count=0, since=None)
    latest = states.order_by("-next_run_at").values_list("next_run_at", flat=True).first()
    newest = max(at for at in (*found, latest) if at is not None)
    # An id carries the time at which its run was claimed.
    claimed = _runs().filter(pk__gte=oldest_run_id(newest), trigger__in=(RunTrigger.SCHEDULE, RunTrigger.HINT))
    claimed = claimed.exclude(status=RunStatus.SKIPPED, reason__in=BY_PEOPLE)
    return Overdue(count=len(found), since=found[0], others_are_claimed=claimed.exists())


def unsent(now: datetime) -> str:
    """Why nothing is sent; empty: what is to be sent goes, or nothing is."""
    waiting = _runs().filter(
        readable("eligible_at"),
        status=RunStatus.PENDING,
        dispatched_at__isnull=True,
        reason__in=TO_BE_SENT,
        eligible_at__lt=now - UNSENT_TOO_LONG,
    )
    newest = waiting.aggregate(at=Max("eligible_at"))["at"]
    if newest is None:
        return ""
    later = _runs().filter(readable("dispatched_at"), pk__gte=oldest_run_id(newest), dispatched_at__gte=newest)
    later = later.exclude(trigger=RunTrigger.MANUAL)  # whoever asks for a run sends it: that says nothing of beats
    return "" if later.exists() else f"nothing is sent: a run has been waiting for that since {shown(newest)}"


def unbegun(now: datetime) -> str:
    """Why nothing begins; empty: workers are at work, or there is none for them."""
    since = now - SENT_TOO_LONG
    sent = _runs().filter(readable("dispatched_at"), status=RunStatus.PENDING, dispatched_at__lt=since)
    newest = sent.aggregate(at=Max("dispatched_at"))["at"]
    if newest is None or _is_worked(now, since) or _has_begun_since(newest):
        return ""
    return f"no run begins: one that was sent at {shown(newest)} has not"


def _has_begun_since(newest: datetime) -> bool:
    """Something that was sent later has begun: what stands still is a queue that nobody consumes."""
    begun = _runs().filter(readable("started_at"), pk__gte=oldest_run_id(newest - HEARD), started_at__gte=newest)
    return begun.exists()


def _is_worked(now: datetime, since: datetime) -> bool:
    """Some body runs, or one of the last has ended since."""
    running = _runs().filter(readable("heartbeat_at"), status=RunStatus.RUNNING, heartbeat_at__gte=now - HEARD)
    return running.exists() or any(_ended_since(status, since) for status in ENDED)


def _ended_since(status: RunStatus, since: datetime) -> bool:
    """By the newest hundred: of a long queue they are the ones that workers have come to last."""
    ended = _runs().filter(readable("completed_at"), status=status, started_at__isnull=False).order_by("-pk")
    return any(at is not None and at >= since for at in ended.values_list("completed_at", flat=True)[:100])


def _runs() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias())
