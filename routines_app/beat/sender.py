"""Publishing beside claiming: while one batch goes to the broker, the next is claimed.

Half of a burst is waiting for the database and half is building messages, so the two halves share a process well. A
batch is handed over after its commit, as always; what is lost with the thread is in the outbox.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Queue
from types import TracebackType

from celery.app import app_or_default
from django.db import connections

from routines_app.coordination.envelope import Message
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.timeouts import bounded_reads
from routines_app.protocol.publish.eager import is_eager

BATCHES_AHEAD = 1  # claimed and waiting: more would only make other beats think that nobody publishes them


class Sender:
    """Sends the batches of one burst, in order. The thread and its database connection end with the burst."""

    def __init__(self, send: Callable[[Sequence[Message]], None]) -> None:
        self._send = send
        self._batches: Queue[Sequence[Message] | None] = Queue(BATCHES_AHEAD)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._app = app_or_default()  # a new thread would take the default one for it

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._thread is None:
            return
        if kind is not None and not issubclass(kind, Exception):
            return  # the process is told to end: the thread is a daemon, and a broker that hangs must not delay it
        self._batches.put(None)
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def send(self, messages: Sequence[Message], *, more: bool) -> None:
        """Send them. With `more` to come it is done beside that, and an error is raised at the end of the burst."""
        if not messages:
            return
        if self._thread is None and more and _may_use_a_thread():
            self._start()
        if self._thread is None:
            self._send(messages)
        else:
            self._batches.put(messages)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="routines-sender", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads for this process
            return
        self._thread = thread

    def _work(self) -> None:
        try:
            self._app.set_current()
            with bounded_reads():
                while (messages := self._batches.get()) is not None:
                    if self._error is None:
                        self._try(messages)
        finally:
            connections.close_all()

    def _try(self, messages: Sequence[Message]) -> None:
        try:
            self._send(messages)
        except BaseException as error:  # noqa: BLE001 - raised where the burst ends; until then batches are taken and dropped
            self._error = error


def _may_use_a_thread() -> bool:
    """Not where a second connection would see nothing, or could only wait for the first."""
    connection = connections[ledger_alias()]
    alone = connection.in_atomic_block or connection.settings_dict["OPTIONS"].get("pool")
    return connection.features.has_select_for_update and not alone and not is_eager()
