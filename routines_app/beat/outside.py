"""The database or the broker as a beat sees it: there, refusing, or away since some time."""

from __future__ import annotations

import logging
import time

from routines_app.conf import get_settings
from routines_app.masks import masked_line

logger = logging.getLogger(__name__)

FIRST_SECONDS = 0.25
REFUSED_SECONDS = 1.0  # who answers is asked more often than who has to be waited for

REFUSES = "refuses"


class Outside:
    """One log line for each change: it goes away, refuses, or is back. In between, tries further and further apart."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._how = ""
        self._error = ""
        self._since = 0.0
        self._retry_at = 0.0

    @property
    def is_failing(self) -> bool:
        """Whether the last try failed."""
        return self._failures > 0

    @property
    def problem(self) -> str:
        """What is wrong with it, in a line for people; empty: nothing is."""
        if not self.is_failing:
            return ""
        said = f"{self._name} {self._how}"
        return f"{said[0].upper()}{said[1:]}{self._error and ': '}{self._error}"

    @property
    def is_resting(self) -> bool:
        """Whether it is away and the next try is still to come."""
        return self.is_failing and time.monotonic() < self._retry_at

    def is_away(self, error: object = "") -> float:
        """A try failed; the seconds until the next."""
        return self._failed("is away", error, get_settings().max_sleep_seconds)

    def refuses(self, error: object) -> float:
        """It answered, and took nothing; the seconds until the next try."""
        return self._failed(REFUSES, error, REFUSED_SECONDS)

    def is_back(self) -> bool:
        """A try succeeded; whether that is news."""
        if not self._failures:
            return False
        logger.warning("%s is back after %.1f s", self._name, time.monotonic() - self._since)
        self._failures, self._how = 0, ""
        return True

    def answers(self) -> bool:
        """It answered a question, which says nothing about whether it takes anything; whether it is back by that."""
        return self._how != REFUSES and self.is_back()

    def _failed(self, how: str, error: object, longest: float) -> float:
        if self._failures == 0:
            self._since = time.monotonic()
        if how != self._how:
            self._how, self._error = how, masked_line(str(error).partition("\n")[0])
            logger.error("%s %s%s; trying again by myself", self._name, how, f": {error}" if error else "")
        wait = min(FIRST_SECONDS * 2.0 ** min(self._failures, 10), get_settings().max_sleep_seconds, longest)
        self._failures += 1
        self._retry_at = time.monotonic() + wait
        return wait
