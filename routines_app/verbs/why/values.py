"""The answer: sentences, each with a code, its moments, and the runs and changes that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from routines_app.core.said import Said
from routines_app.models import RoutineRun


class Because(StrEnum):
    """What a sentence is about."""

    PLANNED = "planned"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RUNNING = "running"
    WAITING = "waiting"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    ASKED_FOR = "asked_for"
    LATE = "late"
    WAITED = "waited"
    IN_THE_BROKER = "in_the_broker"
    RETRIED = "retried"
    BLOCKED = "blocked"
    REPLACED = "replaced"
    NO_BEAT = "no_beat"
    NO_WORKER = "no_worker"
    PAUSED = "paused"
    PARKED = "parked"
    ARCHIVED = "archived"
    EDITED = "edited"
    HINTED = "hinted"
    SHADOW = "shadow"
    NOT_YET_CREATED = "not_yet_created"
    BEFORE_START = "before_start"
    AFTER_END = "after_end"
    MANUAL = "manual"
    MEMBER = "member"
    DAYLIGHT_SAVING = "daylight_saving"
    NO_SLOT = "no_slot"
    NEAREST = "nearest"
    COMING = "coming"
    DUE = "due"
    PRUNED = "pruned"
    NOT_KNOWN = "not_known"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One thing that there is to say."""

    code: Because
    text: Said
    """English, which pages can translate."""
    at: datetime | None = None
    until: datetime | None = None
    runs: tuple[UUID, ...] = ()
    changes: tuple[int, ...] = ()
    """Ids of rows of the routine's history."""

    def __str__(self) -> str:
        return self.text


def about_run(code: Because, run: RoutineRun, text: Said, *more: RoutineRun | None) -> Sentence:
    """From the run's start to its end; of other runs, too, where there are some."""
    runs = (run.pk, *(other.pk for other in more if other is not None))
    return Sentence(code=code, text=text, at=run.started_at, until=run.completed_at, runs=runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Why:
    """Why a routine ran, or did not, at a moment. As text it is a paragraph."""

    routine_id: int
    name: str
    """The routine's."""
    at: datetime
    timezone: str
    """The routine's, in which the sentences tell the time."""
    slot: datetime | None
    """The slot that was asked about; None: there is none at that moment."""
    run_id: UUID | None
    """The last attempt at it."""
    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def codes(self) -> tuple[Because, ...]:
        return tuple(sentence.code for sentence in self.sentences)
