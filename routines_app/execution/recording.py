"""A body's end is written to the ledger, patiently: an outage must not lose it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from django.db import DataError, Error, connections

from routines_app.execution.heart import write_lines
from routines_app.execution.live import LiveRun
from routines_app.execution.outcomes import outside_of_body
from routines_app.execution.watchdog import watchdog
from routines_app.protocol.end.finish import Finish, Lost, finish
from routines_app.protocol.end.outlived import note_body_end
from routines_app.protocol.ledger.database_errors import Trouble, retrying_conflicts, trouble_of
from routines_app.protocol.record.outcome import Outcome

logger = logging.getLogger(__name__)

T = TypeVar("T")

FINISH_SECONDS = 45.0  # how long a finished body waits for a ledger that is away
LONGEST_PAUSE_SECONDS = 2.0


def end(live: LiveRun, outcome: Outcome, *, eager: bool) -> Finish | None:
    """End the run; None when the ledger was away for too long. Nobody watches it from now on."""
    ended = _record(live, outcome, eager)
    if not eager:
        watchdog().release(live)
    return ended


def word_for(finish: Finish | None) -> str:
    if finish is None:
        return "not recorded"
    return "lost" if isinstance(finish, Lost) else str(finish.status)


def _record(live: LiveRun, outcome: Outcome, eager: bool) -> Finish | None:
    outcome = replace(outcome, progress=live.last_progress)
    body_ended = time.monotonic()
    if eager:
        ended: Finish | None = _finish(live, outcome, _no_lease, again=False)
    else:
        # The watchdog keeps heartbeat and lease going while this waits for the ledger.
        ended = patiently(
            lambda again: _finish(live, outcome, live.give_lease_back, again), FINISH_SECONDS, whatever=True
        )
    if ended is None:
        _give_up(live, outcome)
    if isinstance(ended, Lost):
        if not eager:
            live.give_lease_back()  # who ended it did so too, and then we may have renewed it once more
        note_body_end(live.id, time.monotonic() - body_ended)
    return ended


def _no_lease() -> None:
    """An eager run has none."""


def _finish(live: LiveRun, outcome: Outcome, give_back: Callable[[], None], again: bool) -> Finish:
    write_lines(live)
    try:
        return finish(live.facts, outcome, give_back=give_back, again=again)
    except DataError as error:
        # The database refuses a text: say so instead, and keep how the run ended.
        said = f"the ledger refused its texts: {error!r}"
        bare = replace(outcome, result=None, traceback="", progress=None, error=said, retry_args=None)
        return finish(live.facts, bare, give_back=give_back)
    except Error:
        raise
    except Exception as error:
        # Not the ledger but the outcome is at fault, so trying again would not help: record that.
        logger.exception("the end of run %s of %s cannot be written", live.facts.id, live.facts.routine_name)
        return finish(live.facts, outside_of_body("its end could not be recorded", error), give_back=give_back)


def patiently(act: Callable[[bool], T], seconds: float, *, whatever: bool = False) -> T | None:
    """Do it, and with the ledger away try again for a while; None when that was not enough.

    It is told whether it was tried before: nobody knows then whether that was carried out. A statement that the ledger
    refuses over a new connection too is raised, unless `whatever` it says is a reason to try again.
    """
    give_up_at = time.monotonic() + seconds
    pause, again = 0.1, False
    while True:
        try:
            return retrying_conflicts(partial(act, again))
        except Error as error:
            refused = trouble_of(error) in (Trouble.STATEMENT, Trouble.VALUE) and not whatever
            # Once more in any case: a body may have left the connection in a state that refuses everybody after it.
            connections.close_all()
            if refused and again:
                raise
            again = True
            if refused:
                continue
            if time.monotonic() >= give_up_at:
                logger.error("the ledger has been away for %g s: %s", seconds, error)
                return None
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _give_up(live: LiveRun, outcome: Outcome) -> None:
    logger.critical(
        "run %s of %s ended %s, which could not be recorded: it will be found orphaned",
        live.facts.id,
        live.facts.routine_name,
        outcome.status,
    )


def drop_open_transactions() -> None:
    """A body that was cut short may have left a transaction open: what we write next must not become part of it."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block or (connection.connection is not None and not connection.get_autocommit()):
            connection.in_atomic_block = False
            connection.savepoint_ids.clear()
            connection.run_on_commit.clear()
            connection.needs_rollback = False
            connection.close()
