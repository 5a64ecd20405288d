"""Receivers of a project's own, for processes that a test starts with ROUTINES_TELL_SECONDS.

They write what they are told to the body log; a beat tells what nobody else has after that many seconds.
"""

from __future__ import annotations

import os
from typing import Any

from celery.signals import beat_init, worker_init

from tests.acceptance.tasks import write_line

NAMES = ("run_succeeded", "run_failed", "run_skipped", "run_cancelled", "routine_exhausted", "routine_parked")


def listen(**_: Any) -> None:
    from routines_app import signals
    from routines_app.protocol.record import told

    told.TELL_SECONDS = float(os.environ["ROUTINES_TELL_SECONDS"])
    for name in NAMES:

        def receiver(name: str = name, run: Any = None, **facts: Any) -> None:
            write_line(event="told", signal=name, run=str(run.id), will_retry=facts.get("will_retry"))

        getattr(signals, name).connect(receiver, weak=False)


beat_init.connect(listen, weak=False)
worker_init.connect(listen, weak=False)
