"""One thing that people who look after the fleet should know, and how it is said.

A notice is facts; its sentence is made when it is shown. When it began stands beside the sentence, not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from routines_app.core.durations import format_duration
from routines_app.core.said import Said, figure, filled, said, said_of, together

MOST_COUNTED = 1_000  # of most things: nobody needs to know by how much it is too much
MOST_WAITING = 10_000  # of a backlog: beyond that nobody sees whether it grows

COMPARED = {  # by whether there are more or fewer, and whether nothing moves
    (1, False): said("{runs_wait}, {difference:,} more than {length} ago."),
    (1, True): said("{runs_wait}, {difference:,} more than {length} ago, and nothing moves."),
    (0, False): said("{runs_wait}, as many as {length} ago."),
    (0, True): said("{runs_wait}, as many as {length} ago, and nothing moves."),
    (-1, False): said("{runs_wait}, {difference:,} fewer than {length} ago."),
    (-1, True): said("{runs_wait}, {difference:,} fewer than {length} ago, and nothing moves."),
}


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
    """Names, the first of them; or what somebody has reported; masked."""
    more: int = 0
    """How many names `about` leaves out."""
    clocks: tuple[tuple[str, float], ...] = ()
    """Of clocks that differ: whose, and by how many seconds it is ahead of the database's; negative: behind."""
    since: datetime | None = None
    """None: nobody knows, or it has no beginning."""
    earlier: int | None = None
    """Of a backlog: how many waited `earlier_seconds` ago; None: nobody looked then."""
    earlier_seconds: int = 0

    @property
    def sentence(self) -> Said:
        """In English, which pages can translate."""
        return _SENTENCES[self.kind](self)


def counted(number: int, most: int = MOST_COUNTED) -> Said:
    """`1`, `12`, `1,000 or more`."""
    return said("{number:,} or more", number=number) if number >= most else figure(number)


def _names(notice: Notice) -> Said:
    return _and_more(together("", [notice.about]), notice.more)


def _and_more(names: Said, more: int) -> Said:
    return said("{names} and {more} more", names=names, more=more) if more else names


def _no_beat(notice: Notice) -> Said:
    if notice.count:
        return said_of(
            notice.count,
            "No beat is alive, and {count} routine is overdue: nothing fires.",
            "No beat is alive, and {count} routines are overdue: nothing fires.",
            count=counted(notice.count),
        )
    if notice.level is NoticeLevel.WARNING:
        return said("No beat is alive. Nothing is planned either.")
    return said("No beat is alive: what comes due will not fire.")


def _overdue(notice: Notice) -> Said:
    if notice.level is NoticeLevel.ALARM:
        return said_of(
            notice.count,
            "{count} routine is overdue although a beat is alive: nothing is claimed.",
            "{count} routines are overdue although a beat is alive: nothing is claimed.",
            count=counted(notice.count),
        )
    return said_of(
        notice.count,
        "{count} routine is overdue while others are claimed.",
        "{count} routines are overdue while others are claimed.",
        count=counted(notice.count),
    )


def _no_worker(notice: Notice) -> Said:
    if notice.count:
        return said_of(
            notice.count,
            "No worker is alive, and {count} run waits for one.",
            "No worker is alive, and {count} runs wait for one.",
            count=counted(notice.count),
        )
    return said("No worker is alive: no run can begin.")


def _unconsumed(notice: Notice) -> Said:
    if notice.of > 1:
        return said_of(
            notice.count,
            "No worker consumes {queues:,} other queues, and {count} run waits in them: {names}.",
            "No worker consumes {queues:,} other queues, and {count} runs wait in them: {names}.",
            count=counted(notice.count),
            queues=notice.of,
            names=_names(notice),
        )
    return said_of(
        notice.count,
        "No worker consumes queue {queue}, and {count} run waits in it.",
        "No worker consumes queue {queue}, and {count} runs wait in it.",
        count=counted(notice.count),
        queue=_names(notice),
    )


def _backlog(notice: Notice) -> Said:
    wait = said_of(
        notice.count,
        "{count} run has been due for more than a minute and not begun",
        "{count} runs have been due for more than a minute and not begun",
        count=counted(notice.count, MOST_WAITING),
    )
    still = notice.level is NoticeLevel.ALARM
    if notice.earlier is None:
        return said("{runs_wait}, and nothing moves.", runs_wait=wait) if still else together("", [wait, "."])
    difference = notice.count - notice.earlier
    return filled(
        COMPARED[(difference > 0) - (difference < 0), still],
        runs_wait=wait,
        difference=abs(difference),
        length=format_duration(notice.earlier_seconds * 1000),
    )


def _problem(notice: Notice) -> Said:
    return said(
        "{problem} (as {count} of {all} beats and workers report).",
        problem=notice.about,
        count=notice.count,
        all=notice.of,
    )


def _doubtful(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "{names} is doubtful: two of its reports have not come.",
        "{count:,} beats and workers are doubtful, two reports of each have not come: {names}.",
        names=_names(notice),
    )


def _gone(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "{names} is gone: three of its reports have not come.",
        "{count:,} beats and workers are gone, three reports of each have not come: {names}.",
        names=_names(notice),
    )


def _clock(notice: Notice) -> Said:
    clocks = together(", ", [_ahead(name, seconds) for name, seconds in notice.clocks])
    return said("Clocks differ from the database's: {clocks}.", clocks=_and_more(clocks, notice.more))


def _ahead(name: str, seconds: float) -> Said:
    if seconds > 0:
        return said("{name} is {seconds:,.1f} s ahead", name=name, seconds=seconds)
    return said("{name} is {seconds:,.1f} s behind", name=name, seconds=-seconds)


def _parked(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "{count} routine is parked.",
        "{count} routines are parked.",
        count=counted(notice.count),
    )


def _failing(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "{count} routine is failing.",
        "{count} routines are failing.",
        count=counted(notice.count),
    )


def _other_scheduler(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "django-celery-beat has {count} enabled entry in its tables: a beat of its own would fire them.",
        "django-celery-beat has {count} enabled entries in its tables: a beat of its own would fire them.",
        count=counted(notice.count),
    )


def _fired_twice(notice: Notice) -> Said:
    return said_of(
        notice.count,
        "django-celery-beat has {count} enabled entry that routines fire as well: {names}.",
        "django-celery-beat has {count} enabled entries that routines fire as well: {names}.",
        count=counted(notice.count),
        names=_names(notice),
    )


def _unasked(notice: Notice) -> Said:
    return said("The health of the fleet could not be asked: {problem}.", problem=notice.about)


def _well(notice: Notice) -> Said:
    return said(
        "All is well: {beats} and {workers} are there, and nothing is overdue.",
        beats=said_of(notice.count, "{count} beat", "{count} beats", count=counted(notice.count)),
        workers=said_of(notice.of, "{count} worker", "{count} workers", count=counted(notice.of)),
    )


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
