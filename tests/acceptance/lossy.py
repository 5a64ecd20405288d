"""A line to a server on which answers can get lost: what was asked for is done, and whoever asked never hears of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK = 65_536


class Line:
    """A TCP proxy to a local port. Without `lose` everything goes through."""

    def __init__(self, port: int) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self._server = port
        self._lock = threading.Lock()
        self._words: list[bytes] = []
        self._silent = False
        self._sockets: list[socket.socket] = []
        self.lost = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._door.getsockname()[1])

    def lose(self, *words: str, silent: bool = False) -> None:
        """Lose the answer to a client that has said these words, in this order, on one connection.

        The connection is cut then; if `silent`, it stays, and the client waits.
        """
        with self._lock:
            self.lost.clear()
            self._words, self._silent = [word.encode() for word in words], silent

    def close(self) -> None:
        for each in (self._door, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the door is taken away
            while True:
                client = self._door.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._server))
                self._sockets += [client, server]
                _Wire(self, client, server).start()

    def is_heard(self, said: bytes, missing: list[bytes] | None) -> list[bytes]:
        """Of the words that this connection has to say yet, those that are still missing."""
        with self._lock:
            missing = list(self._words) if missing is None else missing
        while missing and (at := said.find(missing[0])) >= 0:
            said, missing = said[at + len(missing[0]) :], missing[1:]
        return missing

    def takes(self) -> bool | None:
        """One connection has said it all. True: cut it; False: keep it waiting; None: another one has been taken."""
        with self._lock:
            if not self._words:
                return None
            self._words = []
            return not self._silent


class _Wire:
    """One connection."""

    def __init__(self, line: Line, client: socket.socket, server: socket.socket) -> None:
        self.line, self.client, self.server = line, client, server
        self.missing: list[bytes] | None = None
        self.doomed: bool | None = None

    def start(self) -> None:
        threading.Thread(target=self._carry_requests, daemon=True).start()
        threading.Thread(target=self._carry_answers, daemon=True).start()

    def _carry_requests(self) -> None:
        with suppress(OSError):
            while said := self.client.recv(CHUNK):
                self._listen(said)
                self.server.sendall(said)
        self._cut()

    def _listen(self, said: bytes) -> None:
        with self.line._lock:
            waiting = bool(self.line._words)
        if not waiting:
            self.missing = None
            return
        self.missing = self.line.is_heard(said, self.missing)
        if not self.missing:
            self.doomed = self.line.takes()

    def _carry_answers(self) -> None:
        with suppress(OSError):
            while answer := self.server.recv(CHUNK):
                if self.doomed is not None:
                    self.line.lost.set()
                    if self.doomed:
                        break
                    return
                self.client.sendall(answer)
        self._cut()

    def _cut(self) -> None:
        for each in (self.client, self.server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def lossy_line(port: int) -> Iterator[Line]:
    line = Line(port)
    try:
        yield line
    finally:
        line.close()
