"""The parts of a beat's look, kept apart: one that fails harms none of the others.

An outage of the database concerns all of them and is raised; whatever else a part fails by is logged once, until that
changes or is over, and the part is done again in its turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import Error

from routines_app.protocol.ledger.database_errors import is_outage
from routines_app.protocol.ledger.said_once import SaidOnce

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class Guard:
    """Remembers which parts have failed the last time, and by what."""

    def __init__(self) -> None:
        self._said = SaidOnce(logger)

    def do(self, what: str, act: Callable[[], Result], otherwise: Result) -> Result:
        """Do the part; `otherwise` when it fails."""
        try:
            done = act()
        except Exception as error:
            if isinstance(error, Error) and is_outage(error):
                raise
            self._tell(what, error)
            return otherwise
        if self._said.over(what):
            logger.warning("%s works again", what)
        return done

    def _tell(self, what: str, error: Exception) -> None:
        if isinstance(error, Error):
            self._said.warn(what, f"{what} failed and is tried again in its turn: {error}")
        elif self._said.note(what, repr(error)):
            logger.error("%s failed and is tried again in its turn", what, exc_info=error)
