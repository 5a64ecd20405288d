"""The frame of the verbs that end a run: one transaction, beats woken after the commit, the run as it is then."""

from __future__ import annotations

from collections.abc import Callable

from routines_app.coordination.wakeups import wake_beats
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import on_commit
from routines_app.verbs.checking.lookup import RunRef, find_run
from routines_app.verbs.editing import ACTOR, REASON, follow
from routines_app.verbs.held_rows import verb_transaction


def ending(run: RunRef, act: Callable[[RoutineRun], object]) -> RoutineRun:
    """Act on the run, and return it as it is then; a caller's instance follows the change."""
    found = find_run(run)
    with verb_transaction("run", str(found.pk)):
        act(found)
        on_commit(wake_beats)
    ended = find_run(found.pk)
    if not isinstance(run, RoutineRun):
        return ended
    follow(run, ended)
    return run


def who_and_why(what: str, reason: str, actor: str) -> str:
    """What the run's row tells about it: who and why, as far as they were given."""
    reason, actor = REASON("reason", reason), ACTOR("actor", str(actor or ""))
    by = f"{what} by {actor}" if actor else what
    if reason:
        return f"{by}: {reason}"
    return by if actor else ""
