"""The work itself: what waits and why, what is overdue, what can never run, what keeps failing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import BooleanField, Count, ExpressionWrapper, Min, Q, QuerySet

from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import Reason, RoutineStatus, RunStatus, Source, TriggerKind
from routines_app.models import Role, Rotation, Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.record.messages import as_text
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.doctor.answers import MOST_NAMED, Answer, Level, error, ok, some_of, warning, worst
from routines_app.verbs.doctor.nodes import alive_nodes
from routines_app.verbs.health.movement import SENT_TOO_LONG, UNSENT_TOO_LONG, overdue_routines
from routines_app.verbs.health.standing import in_words

FAR_TOO_LONG = timedelta(hours=1)  # what was a warning is an error then
HELD_TOO_LONG = timedelta(days=1)  # for what waits as it should: for room, or for another run
UNNAMED = ("celery.",)  # what workers do not report, because each has it

WAITS = {
    Reason.CEILING: "for room in a pool",
    Reason.NOT_YET: "for its time",
    Reason.PAUSED: "for a paused routine",
    Reason.PARKED: "for a parked routine",
    Reason.PUBLISH_FAILED: "because it could not be sent",
    Reason.REDIS_AWAY: "for Redis",
}

PATIENT = (Reason.NOT_YET, Reason.PAUSED, Reason.PARKED)


class _Waiting(NamedTuple):
    """Runs that wait for the same thing."""

    number: int
    words: str
    oldest: datetime | None
    level: Level
    advice: str

    def told(self, now: datetime) -> str:
        is_since = self.oldest is not None and self.oldest <= now
        since = f", the oldest for {in_words(now - self.oldest)}" if is_since and self.oldest is not None else ""
        return f"{self.number} {self.words}{since}"


def waiting() -> Answer:
    """How many runs have not begun, by what they wait for."""
    now = clock.now()
    sent = ExpressionWrapper(Q(dispatched_at__isnull=False), output_field=BooleanField())
    pending = RoutineRun.objects.using(ledger_alias()).filter(
        readable("eligible_at", "dispatched_at"), status=RunStatus.PENDING
    )
    rows = (
        pending.annotate(sent=sent)
        .order_by()
        .values_list("sent", "reason")
        .annotate(count=Count("pk"), eligible=Min("eligible_at"), dispatched=Min("dispatched_at"))
    )
    groups = sorted((_group(now, *row) for row in rows), key=lambda each: -each.number)
    if not groups:
        return ok("no run waits")
    told = "; ".join(each.told(now) for each in groups)
    advice = "; ".join(dict.fromkeys(each.advice for each in groups if each.advice))
    return Answer(worst(each.level for each in groups), told, advice)


def _group(
    now: datetime, sent: bool, reason: str, count: int, eligible: datetime, dispatched: datetime | None
) -> _Waiting:
    if sent:
        late = dispatched is not None and now - dispatched > SENT_TOO_LONG
        words, oldest, advice = "in the broker, for a worker", dispatched, "start workers, or more of them"
    elif reason == Reason.NONE:
        late = now - eligible > UNSENT_TOO_LONG
        words, oldest, advice = "to be published", eligible, "see that a beat runs, and that the broker takes messages"
    else:
        late = reason in (Reason.PUBLISH_FAILED, Reason.REDIS_AWAY)
        words, oldest = WAITS.get(Reason(reason), f"({reason})") if reason in set(Reason) else f"({reason})", eligible
        advice = "see manage.py routines queue"
    level = _level(late, reason, now - (oldest or now))
    return _Waiting(count, words, oldest, level, "" if level is Level.OK else advice)


def _level(late: bool, reason: str, age: timedelta) -> Level:
    """By how long the oldest waits; what somebody has paused or planned may wait for ever."""
    if (late and age > FAR_TOO_LONG) or (reason not in PATIENT and age > HELD_TOO_LONG):
        return Level.ERROR
    return Level.WARNING if late else Level.OK


def overdue() -> Answer:
    """A due routine that no beat has looked at for a minute."""
    found = overdue_routines(clock.now())
    if not found.count:
        return ok(found.why)
    return error(found.why, "see that a beat runs and what its log says; somebody may hold the rows in the database")


def never_fire() -> Answer:
    """Active routines with a schedule that no beat will look at again; one that was to fire once has done so."""
    states = RoutineState.objects.using(ledger_alias()).filter(
        routine__status=RoutineStatus.ACTIVE, next_run_at__isnull=True
    )
    states = states.exclude(routine__trigger_kind=TriggerKind.MANUAL).exclude(next_source=Source.CATCHING_UP)
    if unplanned := _names(states.exclude(next_source=Source.ENDED)):
        return error(f"without a plan {unplanned}", "run manage.py routines replan")
    if ended := _names(states.filter(next_source=Source.ENDED).exclude(routine__trigger_kind=TriggerKind.ONCE)):
        return warning(f"ended, and still active {ended}", "archive them, or give them a later end_at")
    return ok("each active schedule has a next time")


def _names(states: QuerySet[RoutineState]) -> str:
    """How many, and the first of them; empty: none."""
    names = list(states.order_by("routine__name").values_list("routine__name", flat=True)[:MOST_NAMED])
    count = states.count() if names else 0
    return f"{count}: {some_of(names, count - MOST_NAMED)}" if count else ""


def parked() -> Answer:
    found = _names(RoutineState.objects.using(ledger_alias()).filter(routine__status=RoutineStatus.PARKED))
    if not found:
        return ok("none")
    return warning(found, "see why in the history, mend it, then manage.py routines reset")


def failing() -> Answer:
    """Whose last chain has failed."""
    running = (RoutineStatus.ACTIVE, RoutineStatus.PAUSED)
    found = _names(RoutineState.objects.using(ledger_alias()).filter(routine__status__in=running, failure_count__gt=0))
    return warning(found, "see their last runs: manage.py routines show") if found else ok("none")


def tasks() -> Answer:
    """By what workers have registered; without any, by what this process knows."""
    routines = Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.ACTIVE).exclude(task=TICK_TASK)
    wanted = sorted({*routines.order_by().values_list("task", flat=True).distinct(), *_tasks_of_phases()})
    workers = [node for node in alive_nodes(Role.WORKER) if node.tasks]
    if workers:
        known: set[Any] = {name for node in workers for name in node.tasks}
        if missing := [name for name in wanted if name not in known and not name.startswith(UNNAMED)]:
            return error(
                f"no worker knows {some_of(missing)}", "import them in the workers' Celery app, or mend the routines"
            )
        return ok(f"workers know all {len(wanted)}")
    ours = set(registered_tasks())
    if missing := [name for name in wanted if name not in ours]:
        return warning(
            f"this process does not know {some_of(missing)}, and no worker is there to ask",
            "see that the workers' Celery app imports them",
        )
    return ok(f"this process knows all {len(wanted)}")


def _tasks_of_phases() -> set[str]:
    """Of active rotations, and of active members that have phases of their own."""
    rotations = Rotation.objects.using(ledger_alias()).filter(routine__status=RoutineStatus.ACTIVE)
    members = Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.ACTIVE)
    texts = {
        text
        for rows in (rotations, members)
        for text in rows.order_by().values_list(as_text("phases"), flat=True).distinct()
        if text and text != "[]"
    }
    return {task for text in texts for task in _tasks_in(text)}


def _tasks_in(text: str) -> set[str]:
    """What plain SQL has put there may be anything."""
    try:
        phases = json.loads(text)
    except ValueError:
        return set()
    named = [phase.get("task") for phase in phases if isinstance(phase, dict)] if isinstance(phases, list) else []
    return {task for task in named if isinstance(task, str) and task}
