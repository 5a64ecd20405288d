"""Rank in SQL: of a queue that is too long to be read, the first ones are the right ones.

The same order as `core/ranking.py` and `core/room.py` give it, and a test compares them. The database sorts the queue,
and only as many rows are read as may go.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    FloatField,
    IntegerField,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce, FirstValue, Greatest, Least, Power, RowNumber
from django.db.models.lookups import Exact

from routines_app.conf import get_settings
from routines_app.core.ranking import BANDS, MAX_EXPONENT, MAX_LEVELS, NEVER_SECONDS
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.seconds import Seconds


def band(routine: str = "routine__") -> Case:
    """The priority band, the smallest first; `routine` is the way to the routine's columns."""
    whens = [When(**{f"{routine}priority": priority.value}, then=Value(band)) for priority, band in BANDS.items()]
    return Case(*whens, default=Value(len(BANDS)), output_field=IntegerField())


def least_depth(routine: str = "routine__", *, among: Sequence[str] = ()) -> Window:
    """The depth of the shallowest that waits; `among` names what keeps those apart that do not compete.

    The first in order rather than the least of all: for that, MariaDB would read them all again for each.
    """
    depth = f"{routine}depth"
    return Window(FirstValue(depth), partition_by=[F(column) for column in among] or None, order_by=F(depth).asc())


def staleness(now: datetime, routine: str = "routine__", *, among: Sequence[str] = ()) -> ExpressionWrapper[Any]:
    """The effective staleness, the largest first."""
    since = Value(now, output_field=DateTimeField()) - F(f"{routine}state__last_success_at")
    known = Coalesce(Seconds(ExpressionWrapper(since, DurationField())), _number(NEVER_SECONDS))
    stale = Greatest(_number(0.0), Least(_number(NEVER_SECONDS), known))
    below = ExpressionWrapper(F(f"{routine}depth") - least_depth(routine, among=among), IntegerField())
    levels = ExpressionWrapper(Least(below, Value(MAX_LEVELS)) + _number(1.0), FloatField())
    weight = ExpressionWrapper(_number(get_settings().depth_weight) * F(f"{routine}emphasis"), FloatField())
    exponent = Greatest(_number(-MAX_EXPONENT), Least(_number(MAX_EXPONENT), weight))
    return ExpressionWrapper(stale * Power(levels, exponent), FloatField())


def is_override(*, among: Sequence[str] = ()) -> Case:
    """Whether a run goes before all that nobody asked for: of its routine's requests it is the first.

    By a window: a subquery for each request would make MariaDB read the queue as often as somebody has asked.
    """
    first = Window(
        RowNumber(),
        partition_by=[*(F(column) for column in among), F("routine_id")],
        order_by=[_asked_last(), F("requested_at"), F("id")],
    )
    return Case(
        When(requested_at__isnull=False, then=Case(When(Exact(first, 1), then=Value(True)), default=Value(False))),
        default=Value(False),
        output_field=BooleanField(),
    )


def in_rank_order(queue: QuerySet[RoutineRun], now: datetime, *, stage: str | None = None) -> QuerySet[RoutineRun]:
    """The queue as room is given to it, each run with `override`, `band` and `least_depth`.

    Where not all of it waits for the same, `stage` names the column that tells apart who competes, the smallest first.
    """
    among = ["pool_id"] if stage is None else ["pool_id", stage]
    ranked = queue.annotate(override=is_override(among=among), band=band(), least_depth=least_depth(among=among))
    place = Case(When(override=True, then=F("requested_at")), default=None, output_field=DateTimeField())
    stages = [] if stage is None else [stage]
    staler = staleness(now, among=among).desc()
    return ranked.order_by("-override", place, *stages, "band", staler, "eligible_at", "id")


def _asked_last() -> Case:
    """Databases do not agree where NULL is."""
    return Case(When(requested_at=None, then=Value(1)), default=Value(0), output_field=IntegerField())


def _number(value: float) -> Value:
    return Value(value, output_field=FloatField())
