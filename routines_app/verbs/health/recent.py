"""Health for whoever asks again and again, and may be anybody: asked of the ledger now and then only.

Django's cache has the answer for a moment, for all processes. Where there is none, or it is away, each process still
asks one question at a time: a database that hangs takes one thread of it, not one for each request.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from typing import Any

from django.core.cache import cache

from routines_app.conf import get_settings
from routines_app.models import Role
from routines_app.protocol.ledger.said import Said
from routines_app.verbs.deadline import NoThread, TookTooLong, within
from routines_app.verbs.health.health import health

logger = logging.getLogger(__name__)

KEPT_SECONDS = 2
SECONDS = 5.0  # a monitor that waits longer has given up
GIVEN_UP_SECONDS = 30.0  # on a question whose connection may be dead: the operating system knows that hours later

_said = Said(logger)


class _Turn:
    """One question at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.taken_at = 0.0

    @property
    def is_given_up(self) -> bool:
        return self.lock.locked() and time.monotonic() - self.taken_at > GIVEN_UP_SECONDS


_turn = _Turn()


def recent_health(roles: Collection[Role]) -> dict[str, Any]:
    """The facts of `health`, at most two seconds old. Never raises, and answers within ten seconds."""
    key = f"{get_settings().key_prefix}health-1:{'-'.join(sorted(roles))}"
    kept = _kept(key)
    if kept is not None:
        return kept
    turn = _current_turn()
    if not turn.lock.acquire(timeout=SECONDS):
        return {"healthy": False, "why": "the database could not be asked: it has not answered the last question yet"}
    turn.taken_at = time.monotonic()
    try:
        return within(SECONDS, lambda: _ask(key, roles, turn))
    except TookTooLong as error:
        if isinstance(error, NoThread):
            turn.lock.release()  # there is nobody who would
        return {"healthy": False, "why": f"the database could not be asked: {error}"}


def _current_turn() -> _Turn:
    global _turn
    if _turn.is_given_up:
        _turn = _Turn()
    return _turn


def _ask(key: str, roles: Collection[Role], turn: _Turn) -> dict[str, Any]:
    """In its own thread, which lets the next one ask when it has ended, however late that is."""
    try:
        kept = _kept(key)  # another request has asked while this one waited for its turn
        if kept is None:
            kept = health(roles=roles).facts()
            _keep(key, kept)
        return kept
    finally:
        turn.lock.release()


def _kept(key: str) -> dict[str, Any] | None:
    try:
        kept = cache.get(key)
    except Exception as error:  # noqa: BLE001 - a cache raises what its client does; the ledger can be asked without
        _said.warn("cache", f"the cache cannot be asked, so health is asked of the ledger each time: {error}")
        return None
    return kept if isinstance(kept, dict) and "healthy" in kept else None


def _keep(key: str, facts: dict[str, Any]) -> None:
    try:
        cache.set(key, facts, KEPT_SECONDS)
    except Exception as error:  # noqa: BLE001 - as above
        _said.warn("cache", f"the cache cannot be asked, so health is asked of the ledger each time: {error}")
    else:
        _said.over("cache")
