"""The ledger's time, standing still."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from types import TracebackType
from unittest.mock import patch

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.protocol.ledger import clock as ledger_clock
from routines_app.testing.doors import closed_doors

AWARE = "give a moment with its offset, such as datetime(2026, 3, 2, 3, tzinfo=UTC) or '2026-03-02T03:00:00+00:00'"
FORWARD = "the ledger's time only goes forward; an earlier time is another frozen_clock"


class FrozenClock:
    """The time of the ledger while the block lasts; it stands still until it is moved.

    While it does, nothing leaves the process: no message goes to a broker and nothing is asked of Redis. What `run_now`
    makes waits for `run_due`, whatever the project's `CELERY_TASK_ALWAYS_EAGER` says. They may be nested: the inner one
    counts. Code that reads Python's or Django's own clock reads what it always does.
    """

    def __init__(self, at: datetime | str) -> None:
        self._now = aware("at", at)
        self._undo: ExitStack | None = None

    def now(self) -> datetime:
        """The moment at which it stands, in UTC."""
        return self._now

    def move(self, **length: float) -> datetime:
        """Let time pass, in the words of a timedelta: `move(hours=1, minutes=30)`. Nothing is run by it."""
        try:
            then = self._now + timedelta(**length)
        except TypeError:
            raise InvalidValue("length", length, "give it as to a timedelta: days, hours, minutes, seconds") from None
        except (OverflowError, ValueError):  # a number that is none, too
            raise InvalidValue("length", length, "give one that ends in the years 1 to 9999") from None
        return self.move_to(then)

    def move_to(self, then: datetime | str) -> datetime:
        """Let time pass until then. Nothing is run by it: so is an outage."""
        moment = aware("then", then)
        if moment < self._now:
            raise NotAllowed("then", moment.isoformat(), f"it is {self._now.isoformat()}, and {FORWARD}")
        self._now = moment
        return moment

    def __enter__(self) -> FrozenClock:
        if self._undo is not None:
            raise NotAllowed("clock", self._now.isoformat(), "it stands already: make another one to nest them")
        with ExitStack() as entered:
            entered.enter_context(closed_doors())
            # One place: rows that give themselves a time or an id ask this clock too.
            entered.enter_context(patch.object(ledger_clock, "_clock", self))
            self._undo = entered.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo.close()


def frozen_clock(at: datetime | str | None = None) -> FrozenClock:
    """For a `with`, or `enterContext` of a TestCase: the ledger's time stands still at this moment.

    Without one it stands at this machine's present. A moment without an offset is refused.
    """
    return FrozenClock(datetime.now(UTC) if at is None else at)


def standing_clock() -> FrozenClock | None:
    """The clock that counts now, if one stands."""
    found: object = ledger_clock._clock
    return found if isinstance(found, FrozenClock) else None


def needed_clock(what: str) -> FrozenClock:
    found = standing_clock()
    if found is None:
        raise NotAllowed("clock", None, f"{what} needs a clock that stands: use it inside `with frozen_clock(…)`")
    return found


def aware(field: str, value: datetime | str) -> datetime:
    """The moment in UTC; refused where it says no offset."""
    moment: object = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidValue(field, value, AWARE) from None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidValue(field, value, AWARE)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidValue(field, value, "give a moment that UTC has too, in the years 1 to 9999") from None
