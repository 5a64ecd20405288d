"""`current_run()`: what task code can ask and tell about the run that it is part of."""

from __future__ import annotations

import math
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from routines_app.protocol.ledger import clock
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.texts import clean, safe_text

LONGEST_LINE = 10_000
LONGEST_NOTE = 500


class Live(Protocol):
    """The run as the process that executes it keeps it in memory."""

    @property
    def facts(self) -> RunFacts: ...
    @property
    def deadline_at(self) -> datetime | None: ...
    @property
    def stop(self) -> object | None: ...
    def set_progress(self, progress: dict[str, Any]) -> None: ...
    def add_line(self, at: datetime, line: str) -> None: ...


class CurrentRun:
    """The run whose body calls. Everything here is cheap: the watchdog writes it to the ledger."""

    def __init__(self, live: Live) -> None:
        self._live = live

    @property
    def id(self) -> UUID:
        """The run's id, which is also the Celery task id."""
        return self._live.facts.id

    @property
    def run_id(self) -> str:
        return str(self.id)

    @property
    def routine(self) -> str:
        """The routine's name."""
        return self._live.facts.routine_name

    @property
    def routine_name(self) -> str:
        return self.routine

    @property
    def routine_id(self) -> int:
        return self._live.facts.routine_id

    @property
    def task(self) -> str:
        """The name of the task that is executed."""
        return self._live.facts.task

    @property
    def trigger(self) -> str:
        """What has made this run: its schedule, somebody by hand, a retry …"""
        return self._live.facts.trigger

    @property
    def phase(self) -> str:
        """Of a rotation's member: which phase of its cycle this is; empty where there is none."""
        return self._live.facts.phase

    @property
    def source(self) -> str:
        """Why its time was chosen."""
        return self._live.facts.source

    @property
    def slot(self) -> datetime:
        """The UTC instant that this run stands for; the same for every attempt."""
        return self._live.facts.scheduled_for

    @property
    def attempt(self) -> int:
        return self._live.facts.attempt

    @property
    def fence(self) -> int | None:
        """Grows with every exclusive start of the routine; a store can refuse what comes with a smaller one."""
        return self._live.facts.fence

    @property
    def deadline(self) -> datetime | None:
        """When the time-out is reached."""
        return self._live.deadline_at

    @property
    def cancelled(self) -> bool:
        """Whether the body has been asked to stop, for whatever reason."""
        return self._live.stop is not None

    def progress(self, done: float, total: float | None = None, note: str = "") -> None:
        """Say how far the work is; it is shown with the run, at most a second later.

        Anything that is a number will do (a `Decimal`, a numpy integer); what is none, or not finite, is not shown.
        """
        shown = clean(safe_text(note))[:LONGEST_NOTE]
        self._live.set_progress({"done": _number(done), "total": _number(total), "note": shown})

    def log(self, *parts: object) -> None:
        """Add a line to the run's own log, of which the newest lines are kept."""
        line = " ".join(str(part) for part in parts)
        self._live.add_line(clock.now(), clean(line)[:LONGEST_LINE])


def _number(value: Any) -> float | None:
    """A number that JSON and every database hold: one that is none must cost the run neither heartbeat nor Finish."""
    if isinstance(value, int) and abs(value) < 2**63:
        return int(value)
    try:
        number = float(value)
    except Exception:  # noqa: BLE001 - somebody else's __float__ may raise anything
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_current: ContextVar[CurrentRun | None] = ContextVar("routines_current_run", default=None)


def current_run() -> CurrentRun | None:
    """The run that the calling task code belongs to; None outside of one."""
    return _current.get()


def set_current(run: CurrentRun | None) -> None:
    _current.set(run)
