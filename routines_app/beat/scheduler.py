"""The scheduler class that `celery beat -S routines` loads."""

from __future__ import annotations

from typing import Any

from celery.beat import Scheduler

from routines_app.beat.loop import BeatLoop
from routines_app.conf import get_settings
from routines_app.coordination.patience import BEAT, be_patient
from routines_app.protocol.ledger.database import keep_connection, ledger_alias


class RoutinesScheduler(Scheduler):
    """Ticks the routines in the database. The static `beat_schedule` is imported as routines by the first tick.

    Celery builds a second, lazy scheduler for its start-up banner, and closes the real one inside a signal handler:
    so there is no database work outside of `tick`, and closing twice is harmless.
    """

    lock_key = None  # redbeat asks every scheduler for it when a beat starts, where it is imported (Sentry's SDK does)

    def __init__(self, app: Any, *args: Any, **kwargs: Any) -> None:
        self._loop = BeatLoop(app)
        super().__init__(app, *args, **kwargs)

    def setup_schedule(self) -> None:
        """No entries: those of the base class would fire in every beat."""
        be_patient(BEAT)
        keep_connection(ledger_alias(), get_settings().worker_connection_seconds)

    def tick(self, *_: Any, **__: Any) -> float:
        """One look, or one slice of waiting for the next. Never asks Celery to sleep, and raises only to leave."""
        self._loop.listen_for_signals()  # here, because Celery installs its own handlers after it has built us
        self._loop.tick()
        return 0.0

    def should_sync(self) -> bool:
        return False

    def sync(self) -> None:
        """Nothing is kept in memory that would have to be saved."""

    def close(self) -> None:
        self._loop.close()

    @property
    def info(self) -> str:
        return "    . routines -> the database, shared by any number of beats"
