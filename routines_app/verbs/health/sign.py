"""A sign of life on a process's own machine: a file that says when it was last seen alive.

A liveness probe restarts what it calls dead, so it must not ask a database: with that away every beat and worker would
be restarted, for nothing. Where `HEARTBEAT_FILE` names a file, a beat writes into `….beat` at each look that it ends,
also at one that found the database away; one that hangs in a statement writes nothing. A worker's main process
writes into `….worker`, in a thread of its own: that says that its interpreter runs, and the ledger the rest.

What is in the file, and how it is read without Django, is in `routines_app/sign.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from routines_app.conf import get_settings
from routines_app.models import Role
from routines_app.protocol.ledger.said_once import SaidOnce
from routines_app.sign import write

logger = logging.getLogger(__name__)

WORKER_SECONDS = 5.0  # between two signs of a worker


class Sign:
    """What one process leaves."""

    def __init__(self, role: Role) -> None:
        self._role = role
        self._said = SaidOnce(logger)

    def leave(self) -> None:
        """This process is alive now. Never raises: a file that cannot be written is said once."""
        path = path_of(self._role)
        if path is None:
            return
        try:
            write(path)
        except OSError as error:
            self._said.warn("sign", f"no sign of life can be left, and probes will not find one: {error}")
        else:
            self._said.over("sign")

    def keep_leaving(self) -> None:
        """From now on, for as long as the process lives, where somebody wants it."""
        if path_of(self._role) is not None:
            threading.Thread(target=self._keep, name="routines-sign", daemon=True).start()

    def _keep(self) -> None:
        while True:
            self.leave()
            time.sleep(WORKER_SECONDS)


def path_of(role: Role) -> Path | None:
    """Where processes of this role leave their sign; None: nowhere."""
    named = get_settings().heartbeat_file
    return Path(f"{named}.{role.value}") if named else None
