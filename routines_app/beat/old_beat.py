"""In the process of an old beat: what it sends for entries that were moved is written down.

Celery's schedulers, django-celery-beat's and redbeat's all send an entry by `Scheduler.apply_async(entry, …)`. When
such a beat starts in a project that has this app, that method of its scheduler is wrapped: it sends as before, and
notes the entry, the message's id and this machine's time. A thread writes the notes, so the old beat never waits for
our database and never sees its errors; while that is away the notes are kept.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from celery.signals import beat_init
from django.db import DataError, Error, close_old_connections, connections

from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.shadow.seen_fires import READ_AT_ONCE, Fire, moved_keys, record_fires

logger = logging.getLogger(__name__)

KNOWN_SECONDS = 5.0  # how long it is remembered whether an entry was moved
AGAIN_SECONDS = 2.0  # after the database did not take them
MOST_KEPT = 100_000  # notes, while the database is away
IDLE_SECONDS = 60.0  # without a fire, before the thread ends
LEAVE_SECONDS = 2.0  # for what is left to write, when the beat ends

_PACKAGES = {"django_celery_beat": OldScheduler.DJANGO_CELERY_BEAT, "redbeat": OldScheduler.REDBEAT}


def watch(sender: Any = None, **_: Any) -> None:
    """Begin to note what this beat sends, if it is an old one. What goes wrong here Celery logs, and goes on."""
    kind = kind_of(sender.scheduler)
    if kind is not None:
        recorder = Recorder(kind)
        note_sent(sender.scheduler, recorder)
        atexit.register(recorder.close)


def kind_of(scheduler: Any) -> OldScheduler | None:
    """Whose scheduler it is; None: ours."""
    packages = [cls.__module__.partition(".")[0] for cls in type(scheduler).__mro__]
    if __package__.partition(".")[0] in packages:
        return None
    return next((_PACKAGES[package] for package in packages if package in _PACKAGES), OldScheduler.BEAT_SCHEDULE)


def note_sent(scheduler: Any, recorder: Recorder) -> None:
    """Wrap what sends an entry. An entry that could not be sent is not noted."""
    send = scheduler.apply_async

    def apply_async(entry: Any, *args: Any, **kwargs: Any) -> Any:
        fired_at = datetime.now(UTC)
        result = send(entry, *args, **kwargs)
        recorder.note(entry, result, fired_at)
        return result

    scheduler.apply_async = apply_async


class Recorder:
    """Notes, and the thread that writes them down."""

    def __init__(self, kind: OldScheduler) -> None:
        self._kind = kind
        self._notes: queue.Queue[Fire] = queue.Queue(MOST_KEPT)
        self._known: dict[str, tuple[bool, float]] = {}
        self._said = SaidOnce(logger)
        self._thread: threading.Thread | None = None
        self._written = threading.Condition()
        self._unwritten = 0

    def note(self, entry: Any, result: Any, fired_at: datetime) -> None:
        """Never raises, and never waits."""
        try:
            key, task_id = str(entry.name), str(getattr(result, "id", None) or uuid4())
            with self._written:
                self._notes.put_nowait(Fire(key, task_id, fired_at))
                self._unwritten += 1
                self._start()
        except queue.Full:
            self._said.warn("full", f"more than {MOST_KEPT} fires could not be recorded: later ones are not noted")
        except Exception:
            logger.exception("a fire of the old beat is not recorded")

    def close(self) -> None:
        """Give what is left a moment."""
        with self._written:
            self._written.wait_for(lambda: not self._unwritten, LEAVE_SECONDS)

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # not alive: forked since
            self._thread = threading.Thread(target=self._write, name="routines-old-beat", daemon=True)
            self._thread.start()

    def _write(self) -> None:
        while batch := self._next_batch():
            while not self._is_written(batch):
                time.sleep(AGAIN_SECONDS)
            with self._written:
                self._unwritten -= len(batch)
                self._written.notify_all()

    def _next_batch(self) -> list[Fire]:
        """Empty: there has been none for a while, so the thread ends, and its connection with it."""
        batch: list[Fire] = []
        while not batch:
            try:
                batch = [self._notes.get(timeout=IDLE_SECONDS)]
            except queue.Empty:
                connections[ledger_alias()].close()
                with self._written:  # whoever notes one after this starts another thread
                    if self._notes.empty():
                        self._thread = None
                        return []
        while len(batch) < READ_AT_ONCE and not self._notes.empty():
            batch.append(self._notes.get_nowait())
        return batch

    def _is_written(self, batch: list[Fire]) -> bool:
        """Whether it need not be tried again. Outages are told once, and whatever else happens is given up: what the
        database will never take, an id of somebody's own that is too long, must not keep the next ones waiting."""
        close_old_connections()
        try:
            moved = self._moved({fire.key for fire in batch})
            if fires := [fire for fire in batch if fire.key in moved]:
                record_fires(self._kind, fires)
        except DataError:
            logger.exception("%s fires of the old beat are not recorded", len(batch))
            return True
        except Error as error:
            self._said.warn("away", f"fires of the old beat cannot be recorded, and are kept: {error}".strip())
            return False
        except Exception:
            logger.exception("%s fires of the old beat are not recorded", len(batch))
            return True
        finally:
            close_old_connections()
        if self._said.over("away"):
            logger.warning("fires of the old beat are recorded again")
        return True

    def _moved(self, keys: set[str]) -> set[str]:
        now = time.monotonic()
        unknown = [key for key in keys if key not in self._known or self._known[key][1] < now]
        if unknown:
            moved = moved_keys(self._kind, unknown)
            self._known |= {key: (key in moved, now + KNOWN_SECONDS) for key in unknown}
        return {key for key in keys if self._known[key][0]}


def connect() -> None:
    beat_init.connect(watch, weak=False, dispatch_uid="routines.old_beat")
