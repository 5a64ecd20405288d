"""Renewal: keeps the leases of a worker's exclusive runs, and takes note that Redis answers.

A thread of its own, which never talks to the database: one that hangs must not cost a lease. A lease that Redis forgot
is taken again. One that another run holds is let be: the ledger decides whose the routine is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import redis

from routines_app.conf import get_settings
from routines_app.coordination import leases
from routines_app.execution.companion import ROUND_SECONDS, Companion
from routines_app.execution.watched import Watched

logger = logging.getLogger(__name__)

ASK_SECONDS = 5.0  # at least, however rarely hearts beat: that Redis answers is news to a body that hears nobody else
AGAIN_SECONDS = 2.0  # with Redis away: often, because a lease lives only for LEASE_SECONDS
IDLE_SECONDS = 10.0


class Renewal:
    """Renews for the exclusive ones of the runs that `runs` gives, while it is `alone` with that."""

    def __init__(self, runs: Callable[[], Sequence[Watched]], alone: Callable[[], bool] = lambda: True) -> None:
        self._runs = runs
        self._alone = alone
        self._companion = Companion("routines-renewal", self._work)
        self._heard_at = 0.0
        self._due_at = 0.0
        self._busy_at = 0.0

    def ensure_renewing(self, now: float, silent: float | None = None) -> None:
        """Start the thread if it does not run. `silent`: who renewed before has not heard Redis for so long."""
        self._companion.ensure(lambda: self._begin(now, silent))

    def silent_seconds(self, now: float) -> float:
        """How long Redis has not answered; 0 when nobody has asked."""
        return now - self._heard_at if self._companion.is_wanted else 0.0

    @property
    def runs(self) -> bool:
        return self._companion.runs

    def _begin(self, now: float, silent: float | None) -> None:
        self._heard_at = now - (silent or 0.0)
        # The runs' own starts have taken the leases.
        self._due_at = now if silent else now + _pause() / 2

    def _work(self) -> None:
        self._busy_at = time.monotonic()
        while not self._round(time.monotonic()):
            time.sleep(ROUND_SECONDS)

    def _round(self, now: float) -> bool:
        """Whether it was the last one."""
        try:
            runs = self._exclusive()
            if runs:
                self._busy_at = now
            else:
                self._heard_at = now  # nobody was asked
            if now - self._busy_at > IDLE_SECONDS and self._companion.end_unless(self._exclusive):
                return True
            if runs and now >= self._due_at and self._alone():
                self.renew(runs)
        except redis.RedisError as error:
            logger.debug("leases could not be renewed: %s", error)
            self._due_at = time.monotonic() + AGAIN_SECONDS
        except Exception:
            logger.exception("leases could not be renewed; the next time is tried in its turn")
            self._due_at = time.monotonic() + AGAIN_SECONDS
        return False

    def _exclusive(self) -> list[Watched]:
        return [run for run in self._runs() if run.exclusive]

    def renew(self, runs: Sequence[Watched]) -> None:
        """Renew the lease of each; raises `redis.RedisError`."""
        self._due_at = time.monotonic() + _pause()
        for run in runs:
            if run.has_ended():
                continue
            leases.renew(run.routine_id, str(run.id), get_settings().lease_seconds)
            self._heard_at = time.monotonic()
            # Renewing re-creates: a run that ended and gave its lease back during the call must not hold a new one.
            if run.has_ended():
                leases.release(run.routine_id, str(run.id))


def _pause() -> float:
    return min(get_settings().heartbeat_seconds, ASK_SECONDS)
