"""Keeping the routines that are declared in code in step: imported when a beat starts, noted while it lives.

Values are written only once per beat, at its start: during a rolling deploy an old and a new beat run side by side,
and if each kept writing what it knows the routine would flip-flop. The newest start wins. Only an entry whose import
failed is tried again, at every turn; its routine stays as it is meanwhile.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

import redis
from django.db import IntegrityError

from routines_app.beat.entries import declared_entries, declared_names
from routines_app.conf import get_settings
from routines_app.coordination.redis_client import client, key
from routines_app.core.errors import RoutineError
from routines_app.models import DECLARED_IN_DATABASE
from routines_app.verbs.declare import archive_undeclared, declare_routine, note_declared

logger = logging.getLogger(__name__)

LOCK_SECONDS = 30  # an import is a handful of statements per entry


class Declarations:
    """What this beat's Celery app declares."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._names: list[str] | None = None
        self._failed: dict[str, dict[str, Any]] = {}
        self._told: dict[str, str] = {}

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
        note_declared(self._names, self.scope, now)
        for name in archive_undeclared(self.scope, now - timedelta(minutes=get_settings().undeclared_minutes)):
            logger.warning("routine %s is archived: no beat has declared it for a while", name)

    def _import(self) -> None:
        """Unless another beat is importing: then the next turn will do it."""
        lock = key("import", self.scope)
        try:
            if not client().set(lock, "1", nx=True, ex=LOCK_SECONDS):
                return
        except redis.RedisError:
            logger.debug("no Redis to lock the import with: unique names keep two imports apart")
        try:
            wanted = declared_entries(self._app) if self._names is None else self._failed
            self._failed = {name: fields for name, fields in wanted.items() if not self._declare(name, fields)}
            # Also the failed ones: what is in the schedule is not to be archived.
            self._names = declared_names(self._app)
        finally:
            _unlock(lock)

    def _declare(self, name: str, fields: dict[str, Any]) -> bool:
        try:
            declare_routine(name, fields, self.scope)
        except (RoutineError, IntegrityError) as error:
            if self._told.get(name) != str(error):
                self._told[name] = str(error)
                logger.error("beat_schedule entry %r is not imported: %s", name, error)
            return False
        return True


def _unlock(lock: str) -> None:
    try:
        client().delete(lock)
    except redis.RedisError:
        logger.debug("the import lock will run out by itself")
