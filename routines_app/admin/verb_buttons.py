"""The verbs that the admin offers for a routine: what each is called, who may use it, what it asks and does.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from routines_app import service
from routines_app.admin.phrases import clock_time, interval_in_words
from routines_app.admin.verb_arguments import asked_run
from routines_app.admin.verb_forms import (
    BackfillForm,
    HintIntervalForm,
    HintTimeForm,
    PauseForm,
    ResumeForm,
    RunForm,
    VerbForm,
)
from routines_app.core.words import RoutineStatus
from routines_app.models import Routine

SECONDS = 1.0  # that one request spends on what may be very much; the person is asked to go on
Wants = Mapping[str, Any]
LIVING = frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED, RoutineStatus.PARKED})


class OutOfTime(Exception):
    """So much is done, and there is more."""

    def __init__(self, done: int) -> None:
        self.done = done


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One button. `act(routine, wants, actor)` does it and says what was done."""

    slug: str
    label: str
    done: str
    """The past tense, for messages about many routines."""
    permission: str
    explains: str
    act: Callable[[Routine, Wants, str], str]
    form: type[VerbForm] = VerbForm
    statuses: frozenset[RoutineStatus] = LIVING
    danger: bool = False

    def fits(self, routine: Routine) -> bool:
        """Whether the verb makes sense for what the routine is now."""
        return RoutineStatus(routine.status) in self.statuses


def _who_and_why(wants: Wants, actor: str) -> dict[str, Any]:
    return {"actor": actor, "reason": wants.get("reason", "")}


def _local(at: datetime) -> str:
    """A time as the person typed it, with its zone."""
    return clock_time(at, timezone.get_current_timezone())


def _run(routine: Routine, wants: Wants, actor: str) -> str:
    run = asked_run(routine, wants, actor)
    if run.status == "SKIPPED":
        return f"{routine.name} is already active, so this run was skipped ({run.reason})"
    return f"Asked for a run of {routine.name}"


def _pause(routine: Routine, wants: Wants, actor: str) -> str:
    until = wants.get("until")
    service.pause_routine(routine, until=until, **_who_and_why(wants, actor))
    return f"Paused {routine.name} " + (f"until {_local(until)}" if until else "until it is resumed")


def _resume(routine: Routine, wants: Wants, actor: str) -> str:
    release, was = wants.get("release", "SKIP"), routine.status
    service.resume_routine(routine, release=release, **_who_and_why(wants, actor))
    if was == RoutineStatus.ACTIVE:
        return f"{routine.name} was not paused"
    what = {"SKIP": "skipping", "LAST": "running the last of", "ALL": "running all"}[release]
    return f"Resumed {routine.name}, {what} the slots of the pause"


def _archive(routine: Routine, wants: Wants, actor: str) -> str:
    service.archive_routine(routine, **_who_and_why(wants, actor))
    return f"Archived {routine.name}: what waited is cancelled, what runs will finish"


def _reset(routine: Routine, wants: Wants, actor: str) -> str:
    service.reset_routine(routine, **_who_and_why(wants, actor))
    return f"Reset {routine.name}: it is active again with a clean record"


def _hint_interval(routine: Routine, wants: Wants, actor: str) -> str:
    interval, ttl = _length(wants["interval"]), _length(wants["ttl"])
    service.propose_interval(routine, interval, ttl=ttl, **_who_and_why(wants, actor))
    return f"{routine.name} fires every {interval_in_words(wants['interval'])} for {interval_in_words(wants['ttl'])}"


def _hint_time(routine: Routine, wants: Wants, actor: str) -> str:
    service.propose_next_time(routine, wants["at"], ttl=_length(wants["ttl"]), **_who_and_why(wants, actor))
    return f"{routine.name} was asked to fire at {_local(wants['at'])}"


def _length(ms: int) -> timedelta:
    """What a form has read, as the service takes it: there a bare number says nothing."""
    return timedelta(milliseconds=ms)


def _clear_hints(routine: Routine, wants: Wants, actor: str) -> str:
    service.clear_hints(routine, **_who_and_why(wants, actor))
    return f"Cleared the hints of {routine.name}"


def _backfill(routine: Routine, wants: Wants, actor: str) -> str:
    runs = service.backfill(routine, wants["start"], wants["end"], actor=actor)
    return f"Asked for {len(runs):,} runs of {routine.name}, one for each slot of the stretch"


def _replan(routine: Routine, wants: Wants, actor: str) -> str:
    service.replan_routine(routine, **_who_and_why(wants, actor))
    return f"Planned {routine.name} from now on"


def _release_lease(routine: Routine, wants: Wants, actor: str) -> str:
    service.release_lease(routine, **_who_and_why(wants, actor))
    return f"Released the lease of {routine.name}"


def _delete(routine: Routine, wants: Wants, actor: str) -> str:
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


VERBS = {
    verb.slug: verb
    for verb in (
        Verb(
            slug="run",
            label="Run now",
            done="Asked for runs of",
            permission="run_routine",
            explains="Runs once, as soon as a worker is free. The schedule does not move.",
            act=_run,
            form=RunForm,
        ),
        Verb(
            slug="pause",
            label="Pause",
            done="Paused",
            permission="pause_routine",
            explains="Running runs finish, waiting ones are held, and no slot fires until it is resumed.",
            act=_pause,
            form=PauseForm,
            statuses=frozenset({RoutineStatus.ACTIVE}),
        ),
        Verb(
            slug="resume",
            label="Resume",
            done="Resumed",
            permission="pause_routine",
            explains="Held runs go on, and the schedule continues from now.",
            act=_resume,
            form=ResumeForm,
            statuses=frozenset({RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="reset",
            label="Reset",
            done="Reset",
            permission="reset_routine",
            explains="Its count of failures becomes zero, and a parked routine becomes active again.",
            act=_reset,
            statuses=frozenset({RoutineStatus.PARKED, RoutineStatus.ACTIVE}),
        ),
        Verb(
            slug="hint-interval",
            label="Hint an interval",
            done="Hinted",
            permission="hint_routine",
            explains="For a while it fires at another pace; the schedule itself stays as it is.",
            act=_hint_interval,
            form=HintIntervalForm,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="hint-time",
            label="Hint a time",
            done="Hinted",
            permission="hint_routine",
            explains="It fires once at this time, if that is before its next slot.",
            act=_hint_time,
            form=HintTimeForm,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="clear-hints",
            label="Clear hints",
            done="Cleared the hints of",
            permission="hint_routine",
            explains="The schedule is planned again as if nobody had given a hint.",
            act=_clear_hints,
        ),
        Verb(
            slug="backfill",
            label="Backfill",
            done="Backfilled",
            permission="run_routine",
            explains="Makes a run for each slot of a past stretch, whether or not it ran before.",
            act=_backfill,
            form=BackfillForm,
        ),
        Verb(
            slug="replan",
            label="Replan",
            done="Replanned",
            permission="change_routine",
            explains="Plans the next fire again, from the schedule as it is stored: after a change by plain SQL.",
            act=_replan,
            statuses=frozenset({RoutineStatus.ACTIVE, RoutineStatus.PAUSED}),
        ),
        Verb(
            slug="release-lease",
            label="Release lease",
            done="Released the leases of",
            permission="reset_routine",
            explains="Takes the lock away from its holder. Only when you know that the holder is gone: the fence "
            "keeps a late holder from recording anything, not from doing things.",
            act=_release_lease,
            danger=True,
        ),
        Verb(
            slug="archive",
            label="Archive",
            done="Archived",
            permission="change_routine",
            explains="Waiting runs are cancelled, running ones finish, and it never fires again. History stays.",
            act=_archive,
            danger=True,
        ),
        Verb(
            slug="delete",
            label="Delete",
            done="Deleted",
            permission="delete_routine",
            explains="The routine and all its runs are removed for good.",
            act=_delete,
            statuses=frozenset({RoutineStatus.ARCHIVED}),
            danger=True,
        ),
    )
}
