"""Why a body is stopped."""

from __future__ import annotations

from enum import StrEnum

from routines_app.core.words import Reason


class Stop(StrEnum):
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    INTERRUPTED = "interrupted"
    """The worker shuts down: a new row takes the run's place."""
    LOST = "lost"
    """The row is no longer ours, or nobody can be asked: the body must not go on."""


def stop_of(reason: str) -> Stop:
    """From what the ledger says; an unknown reason is a cancellation."""
    return Stop.REPLACED if reason == Reason.REPLACED else Stop.CANCELLED
