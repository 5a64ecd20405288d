"""What the verbs of a routine do.

Each one calls `routines_app.service` with the person's name and reason and returns a sentence about what was done. It
is made by `said`: the history keeps it in English, and the page says it in the language of whoever looks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from django.utils import timezone

from routines_app import service
from routines_app.admin.hint_words import how_long, how_often
from routines_app.admin.verb_arguments import asked_run
from routines_app.core.errors import RoutineError
from routines_app.core.said import Coded, Moment, Said, said, said_of
from routines_app.core.words import CatchUpPolicy, Reason, RoutineStatus
from routines_app.models import Routine, RoutineRun

SECONDS = 1.0  # that one request spends on what may be very much; the person is asked to go on
Wants = Mapping[str, Any]


class Told(Said):
    """What was done, and the run that it led to: its page is where to go."""

    run: RoutineRun | None = None

    @classmethod
    def of(cls, sentence: Said) -> Self:
        return cls(sentence.template, sentence.plural, sentence.number, sentence.values)

    def about(self, run: RoutineRun) -> Self:
        self.run = run
        return self


class Undone(Told):
    """Nothing was done, and why: it is told, and not counted."""


class Unfinished(Told):
    """What was done in the time that there was; the page asks whether to go on."""


class Backfilled(Told):
    """So many runs were asked for; `batch` is what they are followed by."""

    batch: str = ""


class OutOfTime(Exception):
    """So much is done, and there is more."""

    def __init__(self, done: int) -> None:
        self.done = done


TICKED = frozenset({Reason.IDLE, Reason.FULL})
"""Why a rotation's tick has picked nobody."""


def who_and_why(wants: Wants, actor: str) -> dict[str, Any]:
    return {"actor": actor, "reason": wants.get("reason", "")}


def local_time(at: datetime) -> Moment:
    """A time as the person typed it, with its zone; of a sentence that the history keeps in English."""
    return Moment(at, timezone.get_current_timezone())


def ticked(name: str, run: RoutineRun) -> Said:
    """What a tick of the rotation came to."""
    if run.reason == Reason.IDLE:
        return said("Ticked {rotation}: nothing is owed", rotation=name)
    if run.reason == Reason.FULL:
        return said("Ticked {rotation}: as many members are in flight as there may be", rotation=name)
    if run.reason != Reason.PICKED:
        return said("Ticked {rotation}: {status}", rotation=name, status=Coded(run.status))
    picked = run.result.get("picked") if isinstance(run.result, dict) else None
    count = len(picked) if isinstance(picked, list) else 0
    return said_of(
        count, "Ticked {rotation}: {count} member picked", "Ticked {rotation}: {count} members picked", rotation=name
    )


def run(routine: Routine, wants: Wants, actor: str) -> Said:
    run = asked_run(routine, wants, actor)
    if run.status == "SKIPPED" and run.reason not in TICKED:
        return Undone.of(_skipped_in_words(routine, run)).about(run)
    return Told.of(_asked_in_words(routine, run)).about(run)


def _skipped_in_words(routine: Routine, run: RoutineRun) -> Said:
    if run.reason == Reason.OVERLAP:
        return said("Skipped the run of {routine}: it is already active (overlap)", routine=routine.name)
    return said(
        "Skipped the run of {routine}: it is already active ({reason})", routine=routine.name, reason=run.reason
    )


def _asked_in_words(routine: Routine, run: RoutineRun) -> Said:
    if run.reason in TICKED or run.reason == Reason.PICKED:  # it is a rotation's own
        return ticked(routine.name, run)
    if run.status == "PENDING" and run.reason == Reason.OVERLAP:
        return said(
            "Asked for a run of {routine}, which waits for its turn: it is already active", routine=routine.name
        )
    return said("Asked for a run of {routine}", routine=routine.name)


def pause(routine: Routine, wants: Wants, actor: str) -> Said:
    until = wants.get("until")
    service.pause_routine(routine, until=until, **who_and_why(wants, actor))
    return paused(routine.name, until)


def pause_many(routines: Sequence[Routine], wants: Wants, actor: str) -> list[Said | RoutineError]:
    until, ids = wants.get("until"), [routine.pk for routine in routines]
    done = service.pause_routines(ids, until=until, **who_and_why(wants, actor))
    return [done.refused.get(routine.pk) or paused(routine.name, until) for routine in routines]


def paused(name: str, until: datetime | None) -> Said:
    """Of a routine, or of a rotation."""
    if until is None:
        return said("Paused {name} until it is resumed", name=name)
    return said("Paused {name} until {until}", name=name, until=local_time(until))


def resume(routine: Routine, wants: Wants, actor: str) -> Said:
    release, was = wants.get("release", "SKIP"), routine.status
    service.resume_routine(routine, release=release, **who_and_why(wants, actor))
    return _resumed(routine, release, was_paused=was != RoutineStatus.ACTIVE)


def resume_many(routines: Sequence[Routine], wants: Wants, actor: str) -> list[Said | RoutineError]:
    release, ids = wants.get("release", "SKIP"), [routine.pk for routine in routines]
    done = service.resume_routines(ids, release=release, **who_and_why(wants, actor))
    return [
        done.refused.get(routine.pk) or _resumed(routine, release, was_paused=routine.pk in done.done)
        for routine in routines
    ]


def _resumed(routine: Routine, release: str, *, was_paused: bool) -> Said:
    if not was_paused:
        return left_as_it_is(routine)
    match CatchUpPolicy(release):
        case CatchUpPolicy.SKIP:
            return said("Resumed {routine}, skipping the slots of the pause", routine=routine.name)
        case CatchUpPolicy.LAST:
            return said("Resumed {routine}, running the last of the slots of the pause", routine=routine.name)
        case CatchUpPolicy.ALL:
            return said("Resumed {routine}, running all the slots of the pause", routine=routine.name)


def left_as_it_is(routine: Routine) -> Undone:
    return Undone.of(said("Left {routine} as it is: it was not paused", routine=routine.name))


def archive(routine: Routine, wants: Wants, actor: str) -> Said:
    service.archive_routine(routine, **who_and_why(wants, actor))
    return said("Archived {routine}: what waited is cancelled, what runs will finish", routine=routine.name)


def reset(routine: Routine, wants: Wants, actor: str) -> Said:
    service.reset_routine(routine, **who_and_why(wants, actor))
    return said("Reset {routine}: it is active again with a clean record", routine=routine.name)


def hint_interval(routine: Routine, wants: Wants, actor: str) -> Said:
    service.propose_interval(routine, _length(wants["interval"]), **_ttl(wants), **who_and_why(wants, actor))
    return said(
        "Hinted {routine}: it fires {how_often} for {how_long}",
        routine=routine.name,
        how_often=how_often(wants["interval"]),
        how_long=_for_how_long(wants),
    )


def hint_time(routine: Routine, wants: Wants, actor: str) -> Said:
    service.propose_next_time(routine, wants["at"], **_ttl(wants), **who_and_why(wants, actor))
    return said("Asked {routine} to fire at {time}", routine=routine.name, time=local_time(wants["at"]))


def hint_factor(routine: Routine, wants: Wants, actor: str) -> Said:
    factor = _number(wants["factor"])
    service.propose_factor(factor, routine=routine, **_ttl(wants), **who_and_why(wants, actor))
    about: dict[str, Any] = {"routine": routine.name, "how_long": _for_how_long(wants)}
    if factor == 1:
        return said("Hinted {routine}: it goes as usual for {how_long}", **about)
    if factor > 1:
        return said("Hinted {routine}: it goes {times:.4g} times slower for {how_long}", times=factor, **about)
    return said("Hinted {routine}: it goes {times:.4g} times faster for {how_long}", times=1 / factor, **about)


def _length(ms: int) -> timedelta:
    """What a form has read, as the service takes it: there a bare number says nothing."""
    return timedelta(milliseconds=ms)


def _ttl(wants: Wants) -> dict[str, Any]:
    """How long a hint lasts; left empty, as long as the service says."""
    return {"ttl": _length(wants["ttl"])} if "ttl" in wants else {}


def _for_how_long(wants: Wants) -> str:
    return how_long(wants["ttl"]) if "ttl" in wants else said("an hour")


def _number(text: str) -> Any:
    """What is no number goes on as it is: the service says what would be right."""
    try:
        return float(text)
    except ValueError:
        return text


def clear_hints(routine: Routine, wants: Wants, actor: str) -> Said:
    service.clear_hints(routine, **who_and_why(wants, actor))
    return said("Cleared the hints of {routine}", routine=routine.name)


def backfill(routine: Routine, wants: Wants, actor: str) -> Said:
    runs = service.backfill(routine, wants["start"], wants["end"], actor=actor)
    if not runs:
        return Undone.of(said("Made no runs of {routine}: no slot is in that stretch", routine=routine.name))
    asked = said_of(
        len(runs),
        "Asked for {count:,} run of {routine}, one for each slot of the stretch",
        "Asked for {count:,} runs of {routine}, one for each slot of the stretch",
        routine=routine.name,
    )
    done = Backfilled.of(asked)
    done.batch = service.batch_of(runs[0].idempotency_key)
    return done


def give_back(routine: Routine, wants: Wants, actor: str) -> Said:
    before = service.differences(routine)
    service.give_back(routine, [wants["field"]] if "field" in wants else None, **who_and_why(wants, actor))
    back = sorted(before.keys() - service.differences(routine).keys())
    if not back:
        return Undone.of(said("Left {routine} as it is: that does not differ from code", routine=routine.name))
    return said("Gave {fields} of {routine} back to code", fields=", ".join(back), routine=routine.name)


def replan(routine: Routine, wants: Wants, actor: str) -> Said:
    service.replan_routine(routine, **who_and_why(wants, actor))
    return said("Planned {routine} from now on", routine=routine.name)


def release_lease(routine: Routine, wants: Wants, actor: str) -> Said:
    service.release_lease(routine, **who_and_why(wants, actor))
    return said("Released the lease of {routine}", routine=routine.name)


def delete(routine: Routine, wants: Wants, actor: str) -> Said:
    """Deletion goes on where it was interrupted: a long history takes several requests, none of them long."""
    name, until = routine.name, time.monotonic() + SECONDS

    def in_time(deleted: int) -> None:
        if time.monotonic() > until:
            raise OutOfTime(deleted)

    try:
        service.delete_routine(routine, progress=in_time, **who_and_why(wants, actor))
    except OutOfTime as out:
        return said_of(
            out.done,
            "Deleted {count:,} run of {routine}, and it has more: delete it again to go on",
            "Deleted {count:,} runs of {routine}, and it has more: delete it again to go on",
            routine=name,
        )
    return said("Deleted {routine} with its runs", routine=name)
