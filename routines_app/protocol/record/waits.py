"""What runs wait for is added to what they have waited for before, in the statement that makes them wait.

`core/waits.py` says how the text is made; here it is made by the database. The one statement of PostgreSQL that lets
runs through has the same in SQL (`publish/admit_runs.sql`).

Both ask for the reason that the row still has. MariaDB and MySQL assign one column after another, and see what the
columns before have just got: `waits` is set before `reason` (`because`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Case, F, Q, TextField, Value, When
from django.db.models.functions import Concat, Left, Length, Right, Substr
from django.db.models.lookups import Exact, GreaterThanOrEqual

from routines_app.core.waits import (
    BROKER_AWAY,
    FIRST_KEPT,
    HANDED_BACK,
    LONGEST,
    MOMENT_WIDTH,
    MOST,
    OTHERS,
    REASON_WIDTH,
    UNSAID,
    WIDTH,
    entry,
    head,
    stamp,
)
from routines_app.core.words import Reason

_LAST_REASON = Left(Right("waits", WIDTH), REASON_WIDTH)
_KEPT_LAST = MOST - FIRST_KEPT - 2  # beside the one in the middle and the new one


def because(reason: Reason, now: datetime) -> dict[str, Any]:
    """What to set of runs that wait for this from now on, or still; of NONE: that they wait no longer."""
    waits = _over(now) if reason in UNSAID else _waiting_for(reason, now)
    return {"waits": waits, "reason": reason}


def unsent(now: datetime) -> dict[str, Any]:
    """What to set of runs that the broker has not taken, or would not: nothing but that they have waited for it."""
    return {"waits": _waiting_for(BROKER_AWAY, now)}


def _waiting_for(reason: str, now: datetime) -> Case:
    goes_on = Q(Exact(_LAST_REASON, Value(head(reason))))
    if reason not in HANDED_BACK:
        goes_on &= Q(reason=reason)
    return Case(
        When(waits__isnull=True, then=Value(entry(reason, now))),
        When(goes_on, then=_renewed(now)),
        When(GreaterThanOrEqual(Length("waits"), LONGEST), then=_with_room_for(entry(reason, now))),
        default=Concat("waits", Value(entry(reason, now)), output_field=TextField()),
        output_field=TextField(),
    )


def _over(now: datetime) -> Case:
    """The last thing has held until now, if the run still waits for it. NULL stays NULL."""
    still = Q(waits__isnull=False) & ~Q(reason=Reason.NONE)
    return Case(When(still, then=_renewed(now)), default=F("waits"), output_field=TextField())


def _renewed(now: datetime) -> Concat:
    kept = Left("waits", Length("waits") - MOMENT_WIDTH)
    return Concat(kept, Value(stamp(now)), output_field=TextField())


def _with_room_for(new: str) -> Concat:
    """The first entry behind those that are kept becomes one that stands for itself and the next."""
    others = FIRST_KEPT * WIDTH
    since = Substr("waits", others + REASON_WIDTH + 1, MOMENT_WIDTH)
    until = Substr("waits", others + WIDTH + REASON_WIDTH + MOMENT_WIDTH + 1, MOMENT_WIDTH)
    last = Right("waits", _KEPT_LAST * WIDTH)
    first = Left("waits", others)
    return Concat(first, Value(head(OTHERS)), since, until, last, Value(new), output_field=TextField())
