"""Routines that are due and that nobody could claim, because somebody else holds their row: since when, as far as this
process has seen it.

A claim skips what is locked and never learns what that was. So when something has been due for a while and claims leave
it there, it is asked for by name, and remembered: whoever claims it in the end writes down that it waited, with its
rows. In memory, because each beat looks for itself, and the one that claims it has usually seen it. What is claimed in
time costs nothing here.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from routines_app.core.waits import entry_of
from routines_app.core.words import Reason
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.due import DueRow, still_unclaimed
from routines_app.protocol.claim.set_aside import SetAside

OVERDUE = timedelta(seconds=1)  # another beat that claims it takes less
FROM_ITS_TIME = timedelta(seconds=3)  # seen so soon, it was held when it became due
ASK_SECONDS = 1.0
AT_ONCE = 100


class PassedBy:
    """What one process has passed by."""

    def __init__(self, set_aside: SetAside) -> None:
        self._set_aside = set_aside
        self._since: dict[tuple[int, datetime | None], datetime] = {}
        """By routine and when it became due: what was held once may be held again, and another beat may claim it."""
        self._ask_at = 0.0

    def look(self, due_at: datetime, now: datetime) -> None:
        """Claims have taken what they could by `now`, and something is still there that became due at `due_at`."""
        if now - due_at < OVERDUE or time.monotonic() < self._ask_at:
            return
        self._ask_at = time.monotonic() + ASK_SECONDS
        found = still_unclaimed(now - OVERDUE, AT_ONCE, without=self._set_aside.ids)
        self._since = {due: self._since.get(due, now) for due in found}

    def noted(self, claims: list[tuple[DueRow, Claimed]], now: datetime) -> list[tuple[DueRow, Claimed]]:
        """The claims, with what their rows have waited for."""
        if not self._since and not self._set_aside:
            return claims
        return [(row, self._with_wait(row, claimed, now)) for row, claimed in claims]

    def _with_wait(self, row: DueRow, claimed: Claimed, now: datetime) -> Claimed:
        since = self._held_since(row, now)
        return claimed if since is None else claimed.after_waiting(entry_of(Reason.ROUTINE_HELD, since, now))

    def _held_since(self, row: DueRow, now: datetime) -> datetime | None:
        due_at, seen = row.next_run_at, self._since.get((row.routine_id, row.next_run_at))
        if due_at is None:
            return None
        if (seconds := self._set_aside.held_for(row.routine_id)) is not None:
            # Counted by another clock than `now`, which is read before the claim: it may seem to be a moment earlier.
            seen = max(due_at, now - timedelta(seconds=seconds))
        if seen is None:
            return None
        return due_at if seen - due_at <= FROM_ITS_TIME else seen
