"""Why a body is stopped, and with which exception."""

from __future__ import annotations

from enum import StrEnum

from celery.exceptions import Ignore, SoftTimeLimitExceeded

from routines_app.core.words import Reason


class Stop(StrEnum):
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    INTERRUPTED = "interrupted"
    """The worker shuts down: a new row takes the run's place."""
    LOST = "lost"
    """The row is no longer ours, or nobody can be asked: the body must not go on."""


class Stopped(SoftTimeLimitExceeded, Ignore):  # type: ignore[misc, unused-ignore]
    """The body is to stop, and that is no failure.

    To the task a time limit, on which it may clean up; to Celery, and to error trackers that know it, nothing to tell.
    """


def interruption(stop: Stop | None) -> type[Exception]:
    """What is raised in a body for this reason: only being out of time is a failure of the task's own."""
    return SoftTimeLimitExceeded if stop in (None, Stop.TIMEOUT) else Stopped


def stop_of(reason: str) -> Stop:
    """From what the ledger says; an unknown reason is a cancellation."""
    return Stop.REPLACED if reason == Reason.REPLACED else Stop.CANCELLED
