"""An answer that many ask for again and again: the question is asked now and then only, one at a time.

Django's cache has the answer for a moment, for all processes. Where there is none, or it is away, each process still
asks one question at a time: a database that hangs takes one thread of it, not one for each request.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db import connections

from routines_app.conf import get_settings
from routines_app.core.said import said
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.verbs.deadline import NoThread, TookTooLong, within

logger = logging.getLogger(__name__)

GIVEN_UP_SECONDS = 30.0  # on a question whose connection may be dead: the operating system knows that hours later
NOT_YET = said("it has not answered the last question yet")

Facts = dict[str, Any]

_said = SaidOnce(logger)


class Unanswered(Exception):
    """There was no answer in time; the text says why. Whoever asks next may find the one that comes late."""


class _Turn:
    """One question at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.taken_at = 0.0

    @property
    def is_given_up(self) -> bool:
        return self.lock.locked() and time.monotonic() - self.taken_at > GIVEN_UP_SECONDS


class SharedAnswer:
    """What was answered to one kind of question, for whoever asks it again."""

    def __init__(self, name: str) -> None:
        """`name` is part of the cache's keys: another form of the facts needs another one."""
        self._name = name
        self._turn = _Turn()

    def get(
        self, about: str, ask: Callable[[], Facts], *, seconds: float, kept_seconds: float, now: datetime | None = None
    ) -> Facts:
        """The answer, at most `kept_seconds` old, within twice `seconds`; else `Unanswered`, or what `ask` raises.

        With `now` it says when it was asked for, as `kept` needs it.
        """
        key = self._key(about)
        kept = _facts(read(key))
        if kept is not None:
            return kept
        turn = self._current_turn()
        if not turn.lock.acquire(timeout=seconds):
            raise Unanswered(NOT_YET)
        turn.taken_at = time.monotonic()
        try:
            return within(seconds, lambda: self._ask(key, ask, turn, kept_seconds, now))
        except TookTooLong as error:
            if isinstance(error, NoThread):
                turn.lock.release()  # there is nobody who would
            raise Unanswered(*error.args) from None

    def latest(
        self, about: str, ask: Callable[[], Facts], *, now: datetime, fresh_seconds: float, kept_seconds: float
    ) -> Facts:
        """The last answer at once, up to `kept_seconds` old, with when it was asked for (`asked_at`).

        One that is older than `fresh_seconds` is asked for anew beside it, by one thread of all processes: who comes
        next finds that one. Only where there is none does somebody wait for it.
        """
        limits = {"fresh_seconds": fresh_seconds, "kept_seconds": kept_seconds}
        kept = self.kept(about, ask, now=now, **limits)
        return self.renew(about, ask, now=now, kept_seconds=kept_seconds) if kept is None else kept

    def kept(
        self, about: str, ask: Callable[[], Facts], *, now: datetime, fresh_seconds: float, kept_seconds: float
    ) -> Facts | None:
        """The same, or None where there is no answer that is young enough."""
        kept = _facts(read(self._key(about)))
        if kept is None or "asked_at" not in kept:
            return None
        age = (now - kept["asked_at"]).total_seconds()
        if not 0 <= age < kept_seconds:
            return None
        if age >= fresh_seconds:
            self._renew_beside(about, lambda: self._replace(about, kept, ask() | {"asked_at": now}, kept_seconds))
        return kept

    def renew(self, about: str, ask: Callable[[], Facts], *, now: datetime, kept_seconds: float) -> Facts:
        """Ask here and now, and let everybody else have the answer."""
        answer = ask() | {"asked_at": now}
        write(self._key(about), answer, kept_seconds)
        return answer

    def _replace(self, about: str, old: Facts, answer: Facts, kept_seconds: float) -> None:
        """Who has renewed it meanwhile has asked later, perhaps after doing something: that answer stays."""
        there = _facts(read(self._key(about)))
        if there is None or there.get("asked_at") == old["asked_at"]:
            write(self._key(about), answer, kept_seconds)

    def _renew_beside(self, about: str, renew: Callable[[], None]) -> None:
        turn, asking = self._current_turn(), f"{self._key(about)}:asking"
        if not turn.lock.acquire(blocking=False):
            return
        turn.taken_at = time.monotonic()
        if not _first_to_ask(asking):  # another process does
            turn.lock.release()
            return
        thread = threading.Thread(target=_asking, args=(renew, turn, asking), name="routines-asking", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no further thread may be started: the old answer has to do
            turn.lock.release()

    def _key(self, about: str) -> str:
        return f"{get_settings().key_prefix}{self._name}:{about}"

    def _current_turn(self) -> _Turn:
        if self._turn.is_given_up:
            self._turn = _Turn()
        return self._turn

    def _ask(self, key: str, ask: Callable[[], Facts], turn: _Turn, kept_seconds: float, now: datetime | None) -> Facts:
        """In its own thread, which lets the next one ask when it has ended, however late that is."""
        try:
            kept = _facts(read(key))  # another request has asked while this one waited for its turn
            if kept is None:
                kept = {"asked_at": now, **ask()} if now is not None else ask()
                write(key, kept, kept_seconds)
            return kept
        finally:
            turn.lock.release()


def _asking(renew: Callable[[], None], turn: _Turn, asking: str) -> None:
    try:
        renew()
    except Exception as error:  # noqa: BLE001 - nobody waits here; who finds no answer any more asks, and is told
        _said.warn("asking", f"an answer that pages share could not be renewed: {error}")
    else:
        _said.over("asking")
    finally:
        connections.close_all()
        turn.lock.release()
        write(asking, None, 0)


def _first_to_ask(key: str) -> bool:
    """Whether no other process is asking now; what one has begun and never ended is forgotten after a while."""
    try:
        return bool(cache.add(key, True, GIVEN_UP_SECONDS))
    except Exception:  # noqa: BLE001 - without a cache each process asks for itself
        return True


def read(key: str) -> Any:
    """What the cache has; None: nothing, or there is no cache."""
    try:
        return cache.get(key)
    except Exception as error:  # noqa: BLE001 - a cache raises what its client does; the ledger can be asked without
        _said.warn("cache", f"the cache cannot be asked, so health is asked of the ledger each time: {error}")
        return None


def write(key: str, value: Any, seconds: float) -> None:
    """Let the cache have it, where there is one."""
    try:
        cache.set(key, value, seconds)
    except Exception as error:  # noqa: BLE001 - as above
        _said.warn("cache", f"the cache cannot be asked, so health is asked of the ledger each time: {error}")
    else:
        _said.over("cache")


def _facts(kept: Any) -> Facts | None:
    """Somebody else may have put anything under the key."""
    return kept if isinstance(kept, dict) else None
