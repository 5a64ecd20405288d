"""Keeping the routines that are declared in code in step: imported when a beat starts, noted while it lives.

There are two sources, each with a scope of its own: the Celery app's static `beat_schedule`, and the project's code.

Values are written only once per beat, at its start: during a rolling deploy an old and a new beat run side by side,
and if each kept writing what it knows the routine would flip-flop. The newest start wins. Only what failed to be
imported is tried again, at every turn; its routine stays as it is meanwhile. Code that cannot be read says nothing
about what is gone: nothing is archived then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import Error

from routines_app.conf import get_settings
from routines_app.coordination.turns import turn
from routines_app.core.errors import RoutineError
from routines_app.protocol.ledger.database_errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.verbs.adopt import app_scope
from routines_app.verbs.declarations import Found, code_scope, read_declarations
from routines_app.verbs.declare import (
    archive_undeclared,
    declare_routine,
    note_declared,
    undeclared,
    unsettled,
)
from routines_app.verbs.moving.beat_schedule import read_beat_schedule

logger = logging.getLogger(__name__)

LOCK_SECONDS = 30  # an import is a handful of statements per entry
AT_ONCE = 20  # routines: what is due is not to wait for the rest


class Declarations:
    """What this beat's Celery app and its project declare."""

    def __init__(self, app: Any) -> None:
        self.scope = app_scope(app)
        self._sources = (
            Source(
                scope=self.scope,
                called="beat_schedule entry",
                read=lambda: read_beat_schedule(app),
                is_wanted=lambda: get_settings().import_beat_schedule,
            ),
            Source(
                scope=code_scope(),
                called="declared routine",
                read=read_declarations,
                is_wanted=lambda: get_settings().sync_declared,
            ),
        )

    def sync(self, now: datetime) -> bool:
        """Import once; after that say what is still declared, and archive what no beat declares.

        Whether there is more to do, soon: only so many routines are written at once.
        """
        left = [source.sync(now) for source in self._sources]
        return any(left)


class Source:
    """One of them."""

    def __init__(self, *, scope: str, called: str, read: Callable[[], Found], is_wanted: Callable[[], bool]) -> None:
        self._scope, self._called, self._read_all, self._is_wanted = scope, called, read, is_wanted
        self._names: list[str] | None = None
        self._waiting: dict[str, dict[str, Any]] = {}
        self._failed: dict[str, dict[str, Any]] = {}
        self._unnoted: dict[str, dict[str, Any]] = {}
        self._said = SaidOnce(logger)

    def sync(self, now: datetime) -> bool:
        """Whether there is more to do."""
        if not self._is_wanted():
            return False
        if self._names is None or self._waiting or self._failed:
            self._import()
        if self._names is None or self._waiting:
            return bool(self._waiting)
        with bounded():
            note_declared(self._names, self._scope, now)
        # A beat that does not declare it may have been archiving it just then; from now on none does.
        self._failed |= {name: self._unnoted[name] for name in unsettled(self._unnoted, self._scope, now)}
        self._unnoted = {}
        return self._archive(self._names, now - timedelta(minutes=get_settings().undeclared_minutes))

    def _archive(self, names: list[str], not_seen_since: datetime) -> bool:
        """Each by itself: one that somebody holds is archived in the next turn. Whether there are more."""
        gone = undeclared(names, self._scope, not_seen_since)
        for routine_id, name in gone[:AT_ONCE]:
            act = partial(archive_undeclared, routine_id, not_seen_since=not_seen_since)
            if self._apart(f"routine {name} is not archived", act):
                logger.warning("routine %s is archived: no beat has declared it for a while", name)
        return len(gone) > AT_ONCE

    def _import(self) -> None:
        """Unless another beat is importing: then the next turn does it. Without Redis unique names keep two apart."""
        with turn("import", self._scope, seconds=LOCK_SECONDS) as is_ours:
            if not is_ours:
                return
            if self._names is None:
                if (found := self._read()) is None:
                    return
                # Also what is refused, or fails: what stands in the code is not to be archived.
                self._names, self._waiting = found.names, dict(found.fields)
            elif not self._waiting:
                self._waiting, self._failed = self._failed, {}
            self._declare_some()

    def _read(self) -> Found | None:
        """What can be imported; the rest is said, once. None: it cannot be read at all."""
        try:
            found = self._read_all()
        except Exception as error:  # noqa: BLE001 - whatever a module of the project raises: the other source goes on
            if self._said.note("unreadable", str(error)):
                logger.error("no %s is imported: %s: %s", self._called, type(error).__name__, error)
            return None
        self._said.over("unreadable")
        for name, why in found.refused.items():
            if self._said.note(("refused", name), why):
                logger.error("%s is not imported: %s", self._which(name, found), why)
        for name, options in found.left_out.items():
            if self._said.note(("left out", name), str(options)):
                logger.warning("%s: its options %s are not carried", self._which(name, found), ", ".join(options))
        return found

    def _which(self, name: str, found: Found) -> str:
        places = " and ".join(found.places.get(name, ()))
        return f"{self._called} {name!r}" + (f" ({places})" if places else "")

    def _declare_some(self) -> None:
        for name in list(self._waiting)[:AT_ONCE]:
            # Failed until it is not: an outage, or a bug, must not keep those behind it waiting.
            self._failed[name] = self._waiting.pop(name)
            if self._declare(name, self._failed[name]):
                self._unnoted[name] = self._failed.pop(name)

    def _declare(self, name: str, fields: dict[str, Any]) -> bool:
        return self._apart(
            f"{self._called} {name!r} is not imported", lambda: declare_routine(name, fields, self._scope)
        )

    def _apart(self, otherwise: str, act: Callable[[], object]) -> bool:
        """Do it for one routine, waiting for nobody for long; what keeps it from being done is said once.

        Whether it was done: `act` gives nothing where there was nothing to do.
        """

        def limited() -> object:
            with bounded():
                return act()

        try:
            done = retrying_conflicts(limited)
        except (RoutineError, Error) as error:
            if isinstance(error, Error) and is_outage(error):
                raise
            if self._said.note(otherwise, str(error)):
                logger.error("%s: %s", otherwise, error)
            return False
        self._said.over(otherwise)
        return bool(done)
