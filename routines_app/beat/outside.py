"""The database or the broker as a beat sees it: there, or away since some time."""

from __future__ import annotations

import logging
import time

from routines_app.conf import get_settings

logger = logging.getLogger(__name__)

FIRST_SECONDS = 0.25


class Outside:
    """One log line when it goes away and one when it is back; in between, tries further and further apart."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._away_since = 0.0
        self._retry_at = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether it is away and the next try is still to come."""
        return self._failures > 0 and time.monotonic() < self._retry_at

    def is_away(self, error: object = "") -> float:
        """A try failed; the seconds until the next."""
        if self._failures == 0:
            self._away_since = time.monotonic()
            logger.error("%s is away%s; trying again by myself", self._name, f": {error}" if error else "")
        wait = min(FIRST_SECONDS * 2.0 ** min(self._failures, 10), get_settings().max_sleep_seconds)
        self._failures += 1
        self._retry_at = time.monotonic() + wait
        return wait

    def is_back(self) -> None:
        """A try succeeded."""
        if self._failures:
            logger.warning("%s is back after %.1f s", self._name, time.monotonic() - self._away_since)
        self._failures = 0
