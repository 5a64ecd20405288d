"""What the verbs of a routine do.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from django.utils import timezone

from routines_app import service
from routines_app.admin.phrases import clock_time, factor_in_words, interval_in_words
from routines_app.admin.verb_arguments import asked_run
from routines_app.core.errors import RoutineError
from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import Routine, RoutineRun

SECONDS = 1.0  # that one request spends on what may be very much; the person is asked to go on
Wants = Mapping[str, Any]


class Said(str):
    """What was done, and the run that it led to: its page is where to go."""

    run: RoutineRun | None = None

    def about(self, run: RoutineRun) -> Self:
        self.run = run
        return self


class Undone(Said):
    """Nothing was done, and why: it is told, and not counted."""


class Backfilled(str):
    """So many runs were asked for; `batch` is what they are followed by."""

    __slots__ = ("batch",)
    batch: str


class OutOfTime(Exception):
    """So much is done, and there is more."""

    def __init__(self, done: int) -> None:
        self.done = done


TICKED = {
    Reason.IDLE: "nothing is owed",
    Reason.FULL: "as many members are in flight as there may be",
}


def who_and_why(wants: Wants, actor: str) -> dict[str, Any]:
    return {"actor": actor, "reason": wants.get("reason", "")}


def local_time(at: datetime) -> str:
    """A time as the person typed it, with its zone."""
    return clock_time(at, timezone.get_current_timezone())


def ticked_in_words(run: RoutineRun) -> str:
    """What a tick came to."""
    if run.reason in TICKED:
        return TICKED[Reason(run.reason)]
    picked = run.result.get("picked") if isinstance(run.result, dict) else None
    count = len(picked) if isinstance(picked, list) else 0
    return f"{count} member{'' if count == 1 else 's'} picked" if run.reason == Reason.PICKED else run.status.lower()


def run(routine: Routine, wants: Wants, actor: str) -> str:
    run = asked_run(routine, wants, actor)
    if run.status == "SKIPPED" and run.reason not in TICKED:
        return Undone(f"Skipped the run of {routine.name}: it is already active ({run.reason})").about(run)
    return Said(_asked_in_words(routine, run)).about(run)


def _asked_in_words(routine: Routine, run: RoutineRun) -> str:
    if run.reason in TICKED or run.reason == Reason.PICKED:  # it is a rotation's own
        return f"Ticked {routine.name}: {ticked_in_words(run)}"
    if run.status == "PENDING" and run.reason == Reason.OVERLAP:
        return f"Asked for a run of {routine.name}, which waits for its turn: it is already active"
    return f"Asked for a run of {routine.name}"


def pause(routine: Routine, wants: Wants, actor: str) -> str:
    until = wants.get("until")
    service.pause_routine(routine, until=until, **who_and_why(wants, actor))
    return _paused(routine, until)


def pause_many(routines: Sequence[Routine], wants: Wants, actor: str) -> list[str | RoutineError]:
    until, ids = wants.get("until"), [routine.pk for routine in routines]
    done = service.pause_routines(ids, until=until, **who_and_why(wants, actor))
    return [done.refused.get(routine.pk) or _paused(routine, until) for routine in routines]


def _paused(routine: Routine, until: datetime | None) -> str:
    return f"Paused {routine.name} " + (f"until {local_time(until)}" if until else "until it is resumed")


def resume(routine: Routine, wants: Wants, actor: str) -> str:
    release, was = wants.get("release", "SKIP"), routine.status
    service.resume_routine(routine, release=release, **who_and_why(wants, actor))
    return _resumed(routine, release, was_paused=was != RoutineStatus.ACTIVE)


def resume_many(routines: Sequence[Routine], wants: Wants, actor: str) -> list[str | RoutineError]:
    release, ids = wants.get("release", "SKIP"), [routine.pk for routine in routines]
    done = service.resume_routines(ids, release=release, **who_and_why(wants, actor))
    return [
        done.refused.get(routine.pk) or _resumed(routine, release, was_paused=routine.pk in done.done)
        for routine in routines
    ]


def _resumed(routine: Routine, release: str, *, was_paused: bool) -> str:
    if not was_paused:
        return Undone(f"Left {routine.name} as it is: it was not paused")
    what = {"SKIP": "skipping", "LAST": "running the last of", "ALL": "running all"}[release]
    return f"Resumed {routine.name}, {what} the slots of the pause"


def archive(routine: Routine, wants: Wants, actor: str) -> str:
    service.archive_routine(routine, **who_and_why(wants, actor))
    return f"Archived {routine.name}: what waited is cancelled, what runs will finish"


def reset(routine: Routine, wants: Wants, actor: str) -> str:
    service.reset_routine(routine, **who_and_why(wants, actor))
    return f"Reset {routine.name}: it is active again with a clean record"


def hint_interval(routine: Routine, wants: Wants, actor: str) -> str:
    service.propose_interval(routine, _length(wants["interval"]), **_ttl(wants), **who_and_why(wants, actor))
    return f"Hinted {routine.name}: it fires every {interval_in_words(wants['interval'])} for {_for_how_long(wants)}"


def hint_time(routine: Routine, wants: Wants, actor: str) -> str:
    service.propose_next_time(routine, wants["at"], **_ttl(wants), **who_and_why(wants, actor))
    return f"Asked {routine.name} to fire at {local_time(wants['at'])}"


def hint_factor(routine: Routine, wants: Wants, actor: str) -> str:
    factor = _number(wants["factor"])
    service.propose_factor(factor, routine=routine, **_ttl(wants), **who_and_why(wants, actor))
    said = factor_in_words(factor) if isinstance(factor, float) else wants["factor"]
    return f"Hinted {routine.name}: it goes {said} for {_for_how_long(wants)}"


def _length(ms: int) -> timedelta:
    """What a form has read, as the service takes it: there a bare number says nothing."""
    return timedelta(milliseconds=ms)


def _ttl(wants: Wants) -> dict[str, Any]:
    """How long a hint lasts; left empty, as long as the service says."""
    return {"ttl": _length(wants["ttl"])} if "ttl" in wants else {}


def _for_how_long(wants: Wants) -> str:
    return interval_in_words(wants["ttl"]) if "ttl" in wants else "an hour"


def _number(text: str) -> Any:
    """What is no number goes on as it is: the service says what would be right."""
    try:
        return float(text)
    except ValueError:
        return text


def clear_hints(routine: Routine, wants: Wants, actor: str) -> str:
    service.clear_hints(routine, **who_and_why(wants, actor))
    return f"Cleared the hints of {routine.name}"


def backfill(routine: Routine, wants: Wants, actor: str) -> str:
    runs = service.backfill(routine, wants["start"], wants["end"], actor=actor)
    if not runs:
        return Undone(f"Made no runs of {routine.name}: no slot is in that stretch")
    done = Backfilled(f"Asked for {len(runs):,} runs of {routine.name}, one for each slot of the stretch")
    done.batch = service.batch_of(runs[0].idempotency_key)
    return done


def give_back(routine: Routine, wants: Wants, actor: str) -> str:
    before = service.differences(routine)
    service.give_back(routine, [wants["field"]] if "field" in wants else None, **who_and_why(wants, actor))
    back = sorted(before.keys() - service.differences(routine).keys())
    if not back:
        return Undone(f"Left {routine.name} as it is: that does not differ from code")
    return f"Gave {', '.join(back)} of {routine.name} back to code"


def replan(routine: Routine, wants: Wants, actor: str) -> str:
    service.replan_routine(routine, **who_and_why(wants, actor))
    return f"Planned {routine.name} from now on"


def release_lease(routine: Routine, wants: Wants, actor: str) -> str:
    service.release_lease(routine, **who_and_why(wants, actor))
    return f"Released the lease of {routine.name}"


def delete(routine: Routine, wants: Wants, actor: str) -> str:
    """Deletion goes on where it was interrupted: a long history takes several requests, none of them long."""
    name, until = routine.name, time.monotonic() + SECONDS

    def in_time(deleted: int) -> None:
        if time.monotonic() > until:
            raise OutOfTime(deleted)

    try:
        service.delete_routine(routine, progress=in_time, **who_and_why(wants, actor))
    except OutOfTime as out:
        return f"Deleted {out.done:,} runs of {name}, and it has more: delete it again to go on"
    return f"Deleted {name} with its runs"
