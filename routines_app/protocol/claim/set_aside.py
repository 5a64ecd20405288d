"""Routines that a claim could not do, for reasons of their own: a row that a stranger holds, a refused statement.

They are left out of the batches, so that the others are on time, and tried again by themselves, further and further
apart. What it was is logged once for each routine, and that it is over as well.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass

from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias

logger = logging.getLogger(__name__)

REST_SECONDS = (0.1, 1.0)  # the first rest, doubling to the last
NAMED_AT_ONCE = 10
HELD = "somebody else holds its row, or its pool's"


@dataclass(slots=True)
class _Rest:
    since: float
    is_held: bool
    """Somebody holds its row; or else it cannot be done."""
    tries: int
    until: float


class SetAside:
    """What one process has set aside; in memory, because another may get on with it."""

    def __init__(self) -> None:
        self._resting: dict[int, _Rest] = {}

    def __len__(self) -> int:
        return len(self._resting)

    def __contains__(self, routine_id: int) -> bool:
        return routine_id in self._resting

    @property
    def ids(self) -> list[int]:
        return list(self._resting)

    def rested(self) -> list[int]:
        """Those whose turn it is to be tried again, the longest waiting first."""
        now = time.monotonic()
        over = [(rest.until, routine_id) for routine_id, rest in self._resting.items() if rest.until <= now]
        return [routine_id for _, routine_id in sorted(over)]

    def seconds_left(self) -> float:
        """Until the next is to be tried again."""
        now = time.monotonic()
        return max(0.0, min((rest.until - now for rest in self._resting.values()), default=float("inf")))

    def held_for(self, routine_id: int) -> float | None:
        """For how many seconds somebody has held its row; None where nobody has, or something else was the matter."""
        rest = self._resting.get(routine_id)
        return time.monotonic() - rest.since if rest is not None and rest.is_held else None

    def add(self, routine_ids: Collection[int], why: object) -> None:
        """It did not work, for these; a routine that is new here is named in the log."""
        now = time.monotonic()
        new = [routine_id for routine_id in routine_ids if routine_id not in self._resting]
        for routine_id in routine_ids:
            rest = self._resting.setdefault(routine_id, _Rest(since=now, is_held=why == HELD, tries=0, until=now))
            first, last = REST_SECONDS
            rest.until = now + min(last, first * 2.0 ** min(rest.tries, 10))
            rest.tries += 1
        if new:
            logger.warning("%s cannot be claimed now and is tried by itself until it can: %s", _named(new), why)

    def over(self, routine_ids: Collection[int]) -> None:
        """They were claimed, or need not be any more."""
        done = [
            (routine_id, self._resting.pop(routine_id)) for routine_id in routine_ids if routine_id in self._resting
        ]
        if done:
            waited = time.monotonic() - min(rest.since for _, rest in done)
            logger.warning("%s can be claimed again, after %.1f s", _named([each for each, _ in done]), waited)


def _named(routine_ids: Collection[int]) -> str:
    routines = Routine.objects.using(ledger_alias()).filter(pk__in=list(routine_ids)[:NAMED_AT_ONCE])
    names = ", ".join(routines.order_by("pk").values_list("name", flat=True))
    more = len(routine_ids) - NAMED_AT_ONCE
    return f"routine {names}{f' and {more} others' if more > 0 else ''}"
