"""What the verbs of a routine do.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from routines_app import service
from routines_app.admin.phrases import clock_time, factor_in_words, interval_in_words
from routines_app.admin.verb_arguments import asked_run
from routines_app.core.words import Reason, RoutineStatus
from routines_app.models import Routine

SECONDS = 1.0  # that one request spends on what may be very much; the person is asked to go on
Wants = Mapping[str, Any]


class OutOfTime(Exception):
    """So much is done, and there is more."""

    def __init__(self, done: int) -> None:
        self.done = done


def _who_and_why(wants: Wants, actor: str) -> dict[str, Any]:
    return {"actor": actor, "reason": wants.get("reason", "")}


def _local(at: datetime) -> str:
    """A time as the person typed it, with its zone."""
    return clock_time(at, timezone.get_current_timezone())


def run(routine: Routine, wants: Wants, actor: str) -> str:
    run = asked_run(routine, wants, actor)
    if run.status == "SKIPPED":
        return f"{routine.name} is already active, so this run was skipped ({run.reason})"
    if run.status == "PENDING" and run.reason == Reason.OVERLAP:
        return f"{routine.name} is already active, so this run waits for its turn"
    return f"Asked for a run of {routine.name}"


def pause(routine: Routine, wants: Wants, actor: str) -> str:
    until = wants.get("until")
    service.pause_routine(routine, until=until, **_who_and_why(wants, actor))
    return f"Paused {routine.name} " + (f"until {_local(until)}" if until else "until it is resumed")


def resume(routine: Routine, wants: Wants, actor: str) -> str:
    release, was = wants.get("release", "SKIP"), routine.status
    service.resume_routine(routine, release=release, **_who_and_why(wants, actor))
    if was == RoutineStatus.ACTIVE:
        return f"{routine.name} was not paused"
    what = {"SKIP": "skipping", "LAST": "running the last of", "ALL": "running all"}[release]
    return f"Resumed {routine.name}, {what} the slots of the pause"


def archive(routine: Routine, wants: Wants, actor: str) -> str:
    service.archive_routine(routine, **_who_and_why(wants, actor))
    return f"Archived {routine.name}: what waited is cancelled, what runs will finish"


def reset(routine: Routine, wants: Wants, actor: str) -> str:
    service.reset_routine(routine, **_who_and_why(wants, actor))
    return f"Reset {routine.name}: it is active again with a clean record"


def hint_interval(routine: Routine, wants: Wants, actor: str) -> str:
    service.propose_interval(routine, _length(wants["interval"]), **_ttl(wants), **_who_and_why(wants, actor))
    return f"{routine.name} fires every {interval_in_words(wants['interval'])} for {_for_how_long(wants)}"


def hint_time(routine: Routine, wants: Wants, actor: str) -> str:
    service.propose_next_time(routine, wants["at"], **_ttl(wants), **_who_and_why(wants, actor))
    return f"{routine.name} was asked to fire at {_local(wants['at'])}"


def hint_factor(routine: Routine, wants: Wants, actor: str) -> str:
    factor = _number(wants["factor"])
    service.propose_factor(factor, routine=routine, **_ttl(wants), **_who_and_why(wants, actor))
    said = factor_in_words(factor) if isinstance(factor, float) else wants["factor"]
    return f"{routine.name} goes {said} for {_for_how_long(wants)}"


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
    service.clear_hints(routine, **_who_and_why(wants, actor))
    return f"Cleared the hints of {routine.name}"


def backfill(routine: Routine, wants: Wants, actor: str) -> str:
    runs = service.backfill(routine, wants["start"], wants["end"], actor=actor)
    return f"Asked for {len(runs):,} runs of {routine.name}, one for each slot of the stretch"


def replan(routine: Routine, wants: Wants, actor: str) -> str:
    service.replan_routine(routine, **_who_and_why(wants, actor))
    return f"Planned {routine.name} from now on"


def release_lease(routine: Routine, wants: Wants, actor: str) -> str:
    service.release_lease(routine, **_who_and_why(wants, actor))
    return f"Released the lease of {routine.name}"


def delete(routine: Routine, wants: Wants, actor: str) -> str:
    """Deletion goes on where it was interrupted: a long history takes several requests, none of them long."""
    name, until = routine.name, time.monotonic() + SECONDS

    def in_time(deleted: int) -> None:
        if time.monotonic() > until:
            raise OutOfTime(deleted)

    try:
        service.delete_routine(routine, progress=in_time, **_who_and_why(wants, actor))
    except OutOfTime as out:
        return f"Deleted {out.done:,} runs of {name}, and it has more: delete it again to go on"
    return f"Deleted {name} with its runs"
