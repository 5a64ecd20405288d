"""A beat that is asked to leave: SIGTERM and SIGINT set a flag, and the loop leaves between two steps of its work.

Celery's own handler raises SystemExit wherever the process is. Inside a database driver that breaks the connection, and
the error of its rollback takes the exit's place. So nothing is raised into the work here:

1. At once: the loop finishes the batch in its hands, which publishes what it has claimed, and begins nothing new. A
   loop that only waits leaves at once.
2. After CANCEL_SECONDS the statements that still run are cancelled: they wait for somebody's lock. Nobody takes that
   for the fault of some row, and looks for it (`database_errors.is_outage`).
3. After GIVE_UP_SECONDS the process ends where it stands, as it does at a broker or a database that is frozen. Nothing
   is lost by that: each step leaves rows that the next beat goes on from.

A second signal raises SystemExit at once, as Celery would.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from routines_app.protocol.ledger.cancel_statements import cancel_statement, leaving

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CANCEL_SECONDS = 1.0
GIVE_UP_SECONDS = 1.5  # who asked a beat to leave is promised that it is gone after two


class Departure:
    """Whether this process has been asked to leave."""

    def __init__(self) -> None:
        self.is_asked = False
        self._is_listening = False
        self._is_waiting = False
        self._replaced: dict[int, Any] = {}
        self._gone = threading.Event()
        self._connections: WeakSet[BaseDatabaseWrapper] = WeakSet()
        self._lock = threading.Lock()

    def listen(self) -> None:
        """Take the place of Celery's signal handlers, once.

        Not in a thread, as of a beat that is embedded in a worker without processes: it gets no signals, and Celery
        ends it by not ticking any more. A signal that the process was started to ignore stays ignored.
        """
        if self._is_listening or threading.current_thread() is not threading.main_thread():
            return
        # A signal that comes meanwhile waits: Celery's handler would raise in here, with half of this done.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self._is_listening = True
            self._remember_connections()
            self._start_watching()
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._replaced[number] = signal.signal(number, self._ask)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def close(self) -> None:
        """The loop has left: what comes now is not ours to hurry. Safe to call twice, and inside a signal handler."""
        if not self._is_listening:
            return
        self._is_listening = False
        connection_created.disconnect(dispatch_uid=self._uid)
        signal.set_wakeup_fd(-1)
        while self._replaced:
            signal.signal(*self._replaced.popitem())
        self._gone.set()
        self._bell.close()
        leaving.clear()
        if self.is_asked:
            # The interpreter's last collection goes through all that was ever imported: a second on a busy machine, of
            # the two that were promised, for memory that is gone a moment later anyway.
            gc.freeze()

    def leave_if_asked(self) -> None:
        """End the process, in an orderly way, where there is no work in hand."""
        if self.is_asked:
            raise SystemExit(0)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Around a wait: a signal ends it at once."""
        self._is_waiting = True
        try:
            self.leave_if_asked()  # asked just before we said that we wait
            yield
        finally:
            self._is_waiting = False

    def _ask(self, *_: object) -> None:
        again, self.is_asked = self.is_asked, True
        if again or self._is_waiting:
            raise SystemExit(0)

    def _start_watching(self) -> None:
        """A handler runs in the main thread, when that comes back from C: the bell rings whatever it does there."""
        self._bell, ear = socket.socketpair()
        self._bell.setblocking(False)
        ear.setblocking(True)  # `celery beat` gives every new socket a time-out, and a beat is not asked soon
        threading.Thread(target=self._watch, args=[ear], name="routines-departure", daemon=True).start()
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)

    def _watch(self, ear: socket.socket) -> None:
        with ear:
            while rung := ear.recv(1):  # nothing: it was closed
                if rung[0] in SIGNALS:
                    self._see_it_through()

    def _see_it_through(self) -> None:
        if self._gone.wait(CANCEL_SECONDS):
            return
        logger.warning("asked to leave, and still at work: cancelling what runs in the database")
        leaving.set()
        for connection in self._known_connections():
            # Nobody waits for it: a server that is frozen does not answer this either.
            threading.Thread(target=cancel_statement, args=[connection], daemon=True).start()
        if not self._gone.wait(GIVE_UP_SECONDS - CANCEL_SECONDS):
            logger.warning("leaving in the middle of the work; another beat goes on from here")
            os._exit(0)

    def _remember_connections(self) -> None:
        """Those of all threads: a burst is published, and stamped, in another one."""
        for connection in connections.all(initialized_only=True):
            self._remember(connection)
        connection_created.connect(self._remember_created, dispatch_uid=self._uid)

    def _remember_created(self, *, connection: BaseDatabaseWrapper, **_: Any) -> None:
        self._remember(connection)

    def _remember(self, connection: BaseDatabaseWrapper) -> None:
        with self._lock:
            self._connections.add(connection)

    def _known_connections(self) -> list[BaseDatabaseWrapper]:
        with self._lock:
            return list(self._connections)

    @property
    def _uid(self) -> str:
        return f"routines-departure-{id(self)}"
