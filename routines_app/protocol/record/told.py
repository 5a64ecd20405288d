"""Whether the end of a run has been told, on its row: `tell_after` is when a beat tells it in place of who ended it.

It is written with the end, only where the ending process has receivers, and cleared when they have been called.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from django.db import Error

from routines_app.models import RoutineRun
from routines_app.protocol.ledger.arrays import array_literal
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, on_commit, sql
from routines_app.protocol.ledger.locks import update_free
from routines_app.protocol.ledger.timeouts import bounded, run_bounded

logger = logging.getLogger(__name__)

TELL_SECONDS = 60.0  # longer than receivers should take: one that takes longer is called twice


def deadline(now: datetime) -> datetime:
    """Until when an end of now should have been told."""
    return now + timedelta(seconds=TELL_SECONDS)


def expect(run_ids: Collection[UUID], now: datetime) -> None:
    """Write that these ends are to be told, in the transaction that ends them: their rows are ours."""
    if run_ids:
        RoutineRun.objects.using(ledger_alias()).filter(id__in=run_ids).update(tell_after=deadline(now))


def note(run_ids: Collection[UUID]) -> None:
    """Write that these ends were told: after the commit, and after whatever is to happen after it already."""
    if run_ids:
        on_commit(lambda: _clear(run_ids))


def _clear(run_ids: Collection[UUID]) -> None:
    """What fails here must not fail the end, which is committed; a beat tells it once more then.

    So it is with a row that somebody holds, a receiver's task perhaps: whoever comes here may be a beat, and waits for
    nobody.
    """
    alias = ledger_alias()
    try:
        if is_postgresql(alias):
            _clear_in_one_statement(run_ids)
        else:
            _clear_portably(alias, run_ids)
    except Error as error:
        logger.warning("the ends of %s runs were told, which could not be noted: %s", len(run_ids), error)


def _clear_in_one_statement(run_ids: Collection[UUID]) -> None:
    run_bounded(sql("record/note_told"), [array_literal([str(run_id) for run_id in run_ids])])


def _clear_portably(alias: str, run_ids: Collection[UUID]) -> None:
    with bounded():
        update_free(RoutineRun.objects.using(alias).filter(id__in=run_ids), tell_after=None)
