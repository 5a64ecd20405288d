"""Keeping the routines that are declared in code in step: imported when a beat starts, noted while it lives.

Values are written only once per beat, at its start: during a rolling deploy an old and a new beat run side by side,
and if each kept writing what it knows the routine would flip-flop. The newest start wins. Only an entry whose import
failed is tried again, at every turn; its routine stays as it is meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import Error

from routines_app.beat.entries import declared_names, read_entries
from routines_app.conf import get_settings
from routines_app.coordination.turns import turn
from routines_app.core.errors import RoutineError
from routines_app.models import DECLARED_IN_DATABASE
from routines_app.protocol.ledger.errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.said import Said
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.verbs.declare import archive_undeclared, declare_routine, note_declared, undeclared

logger = logging.getLogger(__name__)

LOCK_SECONDS = 30  # an import is a handful of statements per entry


class Declarations:
    """What this beat's Celery app declares."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._names: list[str] | None = None
        self._failed: dict[str, dict[str, Any]] = {}
        self._said = Said(logger)

    @property
    def scope(self) -> str:
        """The app's name: two apps on one database do not touch each other's entries."""
        return str(self._app.main or "celery") if self._app.main != DECLARED_IN_DATABASE else "celery-database"

    def sync(self, now: datetime) -> None:
        """Import once; after that say that the entries are still declared, and archive what no beat declares."""
        if not get_settings().import_beat_schedule:
            return
        if self._names is None or self._failed:
            self._import()
        if self._names is None:
            return
        with bounded():
            note_declared(self._names, self.scope, now)
        self._archive(self._names, now - timedelta(minutes=get_settings().undeclared_minutes))

    def _archive(self, names: list[str], not_seen_since: datetime) -> None:
        """Each by itself: one that somebody holds is archived in the next turn."""
        for routine_id, name in undeclared(names, self.scope, not_seen_since):
            if self._apart(f"routine {name} is not archived", partial(archive_undeclared, routine_id)):
                logger.warning("routine %s is archived: no beat has declared it for a while", name)

    def _import(self) -> None:
        """Unless another beat is importing: then the next turn does it. Without Redis unique names keep two apart."""
        with turn("import", self.scope, seconds=LOCK_SECONDS) as is_ours:
            if not is_ours:
                return
            wanted = self._read() if self._names is None else self._failed
            self._failed = {name: fields for name, fields in wanted.items() if not self._declare(name, fields)}
            # Also the failed ones: what is in the schedule is not to be archived.
            self._names = declared_names(self._app)

    def _read(self) -> dict[str, dict[str, Any]]:
        """What can be imported; the rest is said, once."""
        found = read_entries(self._app)
        for name, why in found.refused.items():
            if self._said.note(("refused", name), why):
                logger.error("beat_schedule entry %r is not imported: %s", name, why)
        for name, options in found.left_out.items():
            if self._said.note(("left out", name), str(options)):
                logger.warning("beat_schedule entry %r: its options %s are not carried", name, ", ".join(options))
        return found.fields

    def _declare(self, name: str, fields: dict[str, Any]) -> bool:
        return self._apart(
            f"beat_schedule entry {name!r} is not imported", lambda: declare_routine(name, fields, self.scope)
        )

    def _apart(self, otherwise: str, act: Callable[[], object]) -> bool:
        """Do it for one routine, waiting for nobody for long; what keeps it from being done is said once."""

        def limited() -> None:
            with bounded():
                act()

        try:
            retrying_conflicts(limited)
        except (RoutineError, Error) as error:
            if isinstance(error, Error) and is_outage(error):
                raise
            if self._said.note(otherwise, str(error)):
                logger.error("%s: %s", otherwise, error)
            return False
        self._said.over(otherwise)
        return True
