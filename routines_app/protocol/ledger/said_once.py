"""A log line for a change, not for every look: a beat looks many times a minute at what stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Collection, Hashable

REMEMBERED = 10_000  # what ends without anybody noticing is not remembered for ever


class SaidOnce:
    """What this process has said about things that last."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._said: dict[Hashable, str] = {}

    def warn(self, about: Hashable, text: str) -> None:
        """Say it, unless that is what was said last."""
        if self.note(about, text):
            self._logger.warning("%s", text)

    def note(self, about: Hashable, text: str) -> bool:
        """Whether it is new: for those who say it themselves."""
        is_new = self._said.get(about) != text
        self._said[about] = text
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]
        return is_new

    def __contains__(self, about: Hashable) -> bool:
        return about in self._said

    def over(self, about: Hashable) -> bool:
        """It is as it should be again: the next time is new. Whether anything had been said."""
        return self._said.pop(about, None) is not None

    def keep(self, about: Collection[Hashable]) -> None:
        """Everything but these is over."""
        for gone in self._said.keys() - set(about):
            del self._said[gone]
