"""Abandoning runs: a person says that a body which cannot be stopped, or cannot be seen, is gone.

The row ends as a failure, its place in a pool and its lease are free, and its next attempt may come. Should the body
live after all, it has lost its row: its worker tries to stop it, and its return records nothing.
"""

from __future__ import annotations

from django.db import transaction

from routines_app.coordination.wakeups import stop_runs, wake_beats
from routines_app.core.errors import NotAllowed
from routines_app.core.words import Reason
from routines_app.models import RoutineRun
from routines_app.protocol.end.finish import Lost, close_run
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.record.outcome import failed
from routines_app.verbs.cancel import who_and_why
from routines_app.verbs.checking.lookup import RunRef, find_run
from routines_app.verbs.editing import REASON, follow


def abandon_run(run: RunRef, *, reason: str = "", actor: str = "") -> RoutineRun:
    """End a RUNNING run as FAILED (`abandoned`), or as CANCELLED when it was asked to stop; returns it as it is then.

    Use it when you know that the body is gone or harmless. A run that is to stop is cancelled instead.
    """
    said = who_and_why("abandoned", REASON("reason", reason), str(actor or "")) or "abandoned"
    found = find_run(run)
    with transaction.atomic(using=ledger_alias()):
        if isinstance(close_run(found.pk, failed(Reason.ABANDONED, said)), Lost):
            status = find_run(found.pk).status
            raise NotAllowed("run", str(found.pk), f"only RUNNING runs can be abandoned; this one is {status}")
        on_commit(lambda: stop_runs([found.pk]))
        on_commit(wake_beats)
    ended = find_run(found.pk)
    if not isinstance(run, RoutineRun):
        return ended
    follow(run, ended)
    return run
