"""One thing that people who look after the fleet should know, and how it is said.

A notice is facts; its sentence is made when it is shown. When it began stands beside the sentence, not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from routines_app.core.durations import format_duration

MOST_COUNTED = 1_000  # of most things: nobody needs to know by how much it is too much
MOST_WAITING = 10_000  # of a backlog: beyond that nobody sees whether it grows


class NoticeLevel(StrEnum):
    """How bad it is."""

    CALM = "calm"
    WARNING = "warning"
    """Somebody should look, and nothing stands still."""
    ALARM = "alarm"
    """Work that is due is not done."""


class NoticeKind(StrEnum):
    """What it is about; pages know by this where to lead."""

    NO_BEAT = "no_beat"
    OVERDUE = "overdue"
    NO_WORKER = "no_worker"
    UNCONSUMED = "unconsumed"
    BACKLOG = "backlog"
    PROBLEM = "problem"
    DOUBTFUL = "doubtful"
    GONE = "gone"
    CLOCK = "clock"
    PARKED = "parked"
    FAILING = "failing"
    OTHER_SCHEDULER = "other_scheduler"
    FIRED_TWICE = "fired_twice"
    UNASKED = "unasked"
    WELL = "well"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """One thing, in numbers and names; `sentence` says it."""

    kind: NoticeKind
    level: NoticeLevel
    count: int = 0
    """How many it is about; MOST_COUNTED (of a backlog MOST_WAITING) means that many or more."""
    of: int = 0
    """Among how many, where that matters."""
    about: str = ""
    """Names, or what somebody has reported; masked."""
    since: datetime | None = None
    """None: nobody knows, or it has no beginning."""
    earlier: int | None = None
    """Of a backlog: how many waited `earlier_seconds` ago; None: nobody looked then."""
    earlier_seconds: int = 0

    @property
    def sentence(self) -> str:
        return _SENTENCES[self.kind](self)


def counted(number: int, one: str, many: str, most: int = MOST_COUNTED) -> str:
    """`1 run`, `12 runs`, `1,000 or more runs`."""
    more = " or more" if number >= most else ""
    return f"{number:,}{more} {one if number == 1 else many}"


def _no_beat(notice: Notice) -> str:
    if notice.count:
        are = "is" if notice.count == 1 else "are"
        return f"No beat is alive, and {counted(notice.count, 'routine', 'routines')} {are} overdue: nothing fires."
    if notice.level is NoticeLevel.WARNING:
        return "No beat is alive. Nothing is planned either."
    return "No beat is alive: what comes due will not fire."


def _overdue(notice: Notice) -> str:
    are = f"{counted(notice.count, 'routine', 'routines')} {'is' if notice.count == 1 else 'are'} overdue"
    if notice.level is NoticeLevel.ALARM:
        return f"{are} although a beat is alive: nothing is claimed."
    return f"{are} while others are claimed."


def _no_worker(notice: Notice) -> str:
    if notice.count:
        return f"No worker is alive, and {_runs_wait(notice.count)} for one."
    return "No worker is alive: no run can begin."


def _unconsumed(notice: Notice) -> str:
    if notice.of > 1:
        return f"No worker consumes {notice.of:,} other queues, and {_runs_wait(notice.count)} in them: {notice.about}."
    return f"No worker consumes queue {notice.about}, and {_runs_wait(notice.count)} in it."


def _runs_wait(count: int) -> str:
    return f"{counted(count, 'run', 'runs')} {'waits' if count == 1 else 'wait'}"


def _backlog(notice: Notice) -> str:
    have = "has" if notice.count == 1 else "have"
    runs = counted(notice.count, "run", "runs", MOST_WAITING)
    waited = f"{runs} {have} been due for more than a minute and not begun"
    nothing = ", and nothing moves" if notice.level is NoticeLevel.ALARM else ""
    if notice.earlier is None:
        return f"{waited}{nothing}."
    ago = format_duration(notice.earlier_seconds * 1000)
    change = notice.count - notice.earlier
    if change > 0:
        return f"{waited}, {change:,} more than {ago} ago{nothing}."
    if change < 0:
        return f"{waited}, {-change:,} fewer than {ago} ago{nothing}."
    return f"{waited}, as many as {ago} ago{nothing}."


def _problem(notice: Notice) -> str:
    return f"{notice.about} (as {notice.count} of {notice.of} beats and workers report)."


def _doubtful(notice: Notice) -> str:
    if notice.count == 1:
        return f"{notice.about} is doubtful: two of its reports have not come."
    return f"{notice.count:,} beats and workers are doubtful, two reports of each have not come: {notice.about}."


def _gone(notice: Notice) -> str:
    if notice.count == 1:
        return f"{notice.about} is gone: three of its reports have not come."
    return f"{notice.count:,} beats and workers are gone, three reports of each have not come: {notice.about}."


def _clock(notice: Notice) -> str:
    return f"Clocks differ from the database's: {notice.about}."


def _parked(notice: Notice) -> str:
    return f"{counted(notice.count, 'routine is parked', 'routines are parked')}."


def _failing(notice: Notice) -> str:
    return f"{counted(notice.count, 'routine is failing', 'routines are failing')}."


def _other_scheduler(notice: Notice) -> str:
    entries = counted(notice.count, "enabled entry", "enabled entries")
    return f"django-celery-beat has {entries} in its tables: a beat of its own would fire them."


def _fired_twice(notice: Notice) -> str:
    entries = counted(notice.count, "enabled entry", "enabled entries")
    return f"django-celery-beat has {entries} that routines fire as well: {notice.about}."


def _unasked(notice: Notice) -> str:
    return f"The health of the fleet could not be asked: {notice.about}."


def _well(notice: Notice) -> str:
    beats, workers = counted(notice.count, "beat", "beats"), counted(notice.of, "worker", "workers")
    return f"All is well: {beats} and {workers} are there, and nothing is overdue."


_SENTENCES = {
    NoticeKind.NO_BEAT: _no_beat,
    NoticeKind.OVERDUE: _overdue,
    NoticeKind.NO_WORKER: _no_worker,
    NoticeKind.UNCONSUMED: _unconsumed,
    NoticeKind.BACKLOG: _backlog,
    NoticeKind.PROBLEM: _problem,
    NoticeKind.DOUBTFUL: _doubtful,
    NoticeKind.GONE: _gone,
    NoticeKind.CLOCK: _clock,
    NoticeKind.PARKED: _parked,
    NoticeKind.FAILING: _failing,
    NoticeKind.OTHER_SCHEDULER: _other_scheduler,
    NoticeKind.FIRED_TWICE: _fired_twice,
    NoticeKind.UNASKED: _unasked,
    NoticeKind.WELL: _well,
}
