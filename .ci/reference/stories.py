"""What the pictures of the policies show: an hour of a routine, as the core decides it, minute by minute."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from routines_app.core.admission import ActiveRun, Candidate, Hold, Publish, Replace, Skip, Supersede, admit
from routines_app.core.catch_up import CatchUp, account
from routines_app.core.line import place_of
from routines_app.core.triggers import IntervalTrigger, Span
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy, RunTrigger

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
EVERY, STOPS_WITHIN = 10, 1  # minutes: between two slots; from being asked to stop to the end
SLOW, USUAL = 24, 6  # minutes that a body takes: the first one, all others
OUTAGE = (24, 57)  # no beat in these minutes
CATCHING_UP = 3  # minutes that a body takes after the outage


@dataclass
class Run:
    """A slot, and what became of it. Minutes."""

    slot: int
    began: int | None = None
    ended: int | None = None
    fate: str = ""
    """What the picture says below it."""
    stop_at: int | None = None
    count: int = 1

    @property
    def is_running(self) -> bool:
        return self.began is not None and self.ended is None


@dataclass
class Story:
    title: str
    runs: list[Run] = field(default_factory=list)
    outage: tuple[int, int] | None = None


def overlap(policy: ConcurrencyPolicy) -> Story:
    """The first body is slow, all others are quick."""
    story = Story(f"concurrency_policy={policy.value}")
    for minute in range(60):
        for run in story.runs:
            _end_if_due(run, minute)
        if minute % EVERY == 0:
            story.runs.append(Run(minute))
            _decide(policy, story.runs, story.runs[-1], minute, fresh=True)
        for run in story.runs[:]:
            if run.began is None and not run.fate:
                _decide(policy, story.runs, run, minute, fresh=False)
    return story


def _end_if_due(run: Run, minute: int) -> None:
    if run.began is None or run.ended is not None:
        return
    if run.stop_at == minute:
        run.ended, run.fate = minute, "CANCELLED: replaced"
    elif minute - run.began == (SLOW if run.slot == 0 else USUAL):
        run.ended, run.fate = minute, "SUCCESS"


def _decide(policy: ConcurrencyPolicy, runs: list[Run], run: Run, minute: int, *, fresh: bool) -> None:
    active = [_active(other) for other in runs if other is not run and not other.fate]
    asks = Candidate(
        policy=policy, fresh=fresh, place=_place(run), eligible_at=_at(minute), replace_grace=timedelta(hours=1)
    )
    decision = admit(asks, active, _at(minute))
    if isinstance(decision, Supersede):
        for other in _named(runs, decision.waiting):
            other.ended, other.fate = minute, "SKIPPED: superseded"
        decision = decision.then
    elif isinstance(decision, Replace):
        for other in _named(runs, decision.stop):
            other.stop_at = minute + STOPS_WITHIN
        decision = decision.then
    match decision:
        case Publish():
            run.began = minute
        case Skip(reason):
            run.fate = f"SKIPPED: {reason.value}"
        case Hold():
            pass
        case _:
            raise ValueError(decision)


def _active(run: Run) -> ActiveRun:
    asked = None if run.stop_at is None else _at(run.stop_at - STOPS_WITHIN)
    waits = not run.is_running
    return ActiveRun(id=_id(run), place=_place(run), running=run.is_running, waits=waits, stop_requested_at=asked)


def _named(runs: list[Run], ids: tuple[UUID, ...]) -> list[Run]:
    return [run for run in runs if _id(run) in ids]


def _id(run: Run) -> UUID:
    return UUID(int=run.slot + 1)


def _place(run: Run) -> tuple:  # type: ignore[type-arg]
    return place_of(RunTrigger.SCHEDULE, _at(run.slot), _id(run))


def _at(minute: int) -> datetime:
    return MIDNIGHT + timedelta(minutes=minute)


def catch_up(policy: CatchUpPolicy) -> Story:
    """All beats are away for half an hour."""
    story = Story(f"catch_up_policy={policy.value}", outage=OUTAGE)
    every = IntervalTrigger(interval_ms=EVERY * 60_000, anchor=_at(0))
    rule = CatchUp(policy=policy, grace_ms=60_000)
    following, free_at = 0, 0
    for minute in [*range(OUTAGE[0]), *range(OUTAGE[1], 100)]:
        if minute < max(following, free_at):
            continue
        done = account(every, first=_at(following), now=_at(minute), rule=rule)
        if done.skipped is not None:
            story.runs.append(_skipped(done.skipped))
        for fire in done.fire:
            lasts = CATCHING_UP if minute >= OUTAGE[1] else USUAL
            fate = "SUCCESS: catch_up" if fire.missed else "SUCCESS"
            story.runs.append(Run(_minute(fire.slot), minute, minute + lasts, fate))
            free_at = minute + lasts if done.sequential else free_at
        following = _minute(done.next_slot or _at(minute))
    story.runs = [run for run in story.runs if run.slot <= 80]
    return story


def _skipped(span: Span) -> Run:
    return Run(_minute(span.first), fate="SKIPPED: misfire", ended=_minute(span.last), count=span.count)


def _minute(moment: datetime) -> int:
    return int((moment - MIDNIGHT).total_seconds() // 60)
