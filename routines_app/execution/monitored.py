"""Whether monitors want events of this worker: what it was started with, or told since by remote control.

Only the main process hears remote control. It writes on the board what its children go by, and says it to processes
that are no workers (`coordination/monitors.py`).
"""

from __future__ import annotations

import time
from typing import Any

from celery import bootsteps, signals

from routines_app.coordination import monitors
from routines_app.execution.background import in_background
from routines_app.execution.board import board

LOOK_SECONDS = 1.0


class Listening(bootsteps.StartStopStep):
    """A step of the consumer, because each new connection to the broker begins with another event dispatcher."""

    requires = ("celery.worker.consumer.events:Events",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._look: Any = None
        self._announce_at = 0.0

    def start(self, parent: Any) -> None:
        self.look(parent)
        self._look = parent.timer.call_repeatedly(LOOK_SECONDS, self.look, (parent,))

    def stop(self, parent: Any) -> None:  # noqa: ARG002
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def look(self, parent: Any) -> None:
        """Remote control changes the dispatcher without telling anybody."""
        shared = board()
        wanted = are_wanted_of(parent.event_dispatcher)
        if shared is not None:
            shared.want_events(wanted)
        if wanted and time.monotonic() >= self._announce_at:
            self._announce_at = time.monotonic() + monitors.WANTED_SECONDS / 3
            in_background(monitors.announce)


def are_wanted_of(dispatcher: Any) -> bool:
    """Without groups it sends everything. A worker that was not asked for task events still sends its own."""
    return dispatcher is not None and dispatcher.enabled and (not dispatcher.groups or "task" in dispatcher.groups)


def are_wanted() -> bool:
    shared = board()
    return shared is not None and shared.are_events_wanted


@signals.worker_init.connect(weak=False)
def begin(sender: Any = None, **_: Any) -> None:
    """Before the pool is forked: children ask the board, too."""
    monitors.call_oneself(sender.hostname)
    monitors.ask(are_wanted)
    sender.app.steps["consumer"].add(Listening)


@signals.worker_process_shutdown.connect(weak=False)
def tell_the_rest(**_: Any) -> None:
    """A child of the pool ends without Python's own end."""
    monitors.flush()
