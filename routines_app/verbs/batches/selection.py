"""Which routines a batch is to pause, as it is asked for and as its row remembers it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import PauseBatch, Pool, Routine
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.rules import Text
from routines_app.verbs.checking.selecting import selected
from routines_app.verbs.checking.sizes import LONGEST_ADDRESS

COUNTED_AT_MOST = 100_000
FILTER = Text(longest=LONGEST_ADDRESS)


class Selection(NamedTuple):
    """The routines, and what the batch's row says of them."""

    routines: QuerySet[Routine]
    told: dict[str, Any]
    """`by`: tag, group, queue, pool or filter; `value`: which."""


def selection_of(
    *,
    tag: str | None,
    group: str | None,
    queue: str | None,
    pool: Pool | int | str | None,
    routines: QuerySet[Routine] | None,
    described: str = "",
) -> Selection:
    """What a caller means: exactly one of them is given."""
    choices = {"tag": tag, "group": group, "queue": queue, "pool": pool, "routines": routines}
    given = [name for name, value in choices.items() if value is not None]
    if len(given) != 1:
        raise InvalidValue(
            "tag", " and ".join(given) or "none of them", said("give exactly one of {these}", these=", ".join(choices))
        )
    if routines is not None:
        return Selection(routines, {"by": "filter", "value": FILTER("described", described)})
    if pool is not None:
        found = find_pool(pool)
        return Selection(_selected(pool=found), {"by": "pool", "value": found.name, "id": found.pk})
    value = choices[given[0]]
    return Selection(_selected(**{given[0]: value}), {"by": given[0], "value": value})


def remembered(batch: PauseBatch, routines: QuerySet[Routine] | None) -> QuerySet[Routine]:
    """What the batch's row says; a filter is given again by whoever goes on with it."""
    by, value = batch.selected_by.get("by"), batch.selected_by.get("value")
    if by in ("tag", "group", "queue"):
        return _selected(**{by: value})
    if by == "pool":
        return _selected(pool=find_pool(batch.selected_by["id"]))
    if routines is None:
        raise NotAllowed(
            "routines", batch.name, said("it was made by a filter ({value}): give its queryset again", value=value)
        )
    return routines


def _selected(**by: Any) -> QuerySet[Routine]:
    found = selected(**({"routine": None, "tag": None, "group": None, "queue": None, "pool": None} | by))
    if found is None:  # which is for one routine
        raise InvalidValue("tag", by, said("give a tag, a group, a queue or a pool"))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PausePreview:
    """What a batch would find now."""

    active: int
    """It would pause these."""
    paused: int
    """These keep their own pause."""
    parked: int
    """These are left as they are."""
    is_capped: bool
    """There are more than were counted."""


def preview_pause_batch(
    *,
    tag: str | None = None,
    group: str | None = None,
    queue: str | None = None,
    pool: Pool | int | str | None = None,
    routines: QuerySet[Routine] | None = None,
) -> PausePreview:
    """How many routines `pause_batch` would find, by what it would do with them. Reads only, at most 100,000 rows."""
    found = selection_of(tag=tag, group=group, queue=queue, pool=pool, routines=routines).routines
    statuses = list(found.order_by().values_list("status", flat=True)[: COUNTED_AT_MOST + 1])
    counts = Counter(statuses[:COUNTED_AT_MOST])
    return PausePreview(
        active=counts[RoutineStatus.ACTIVE],
        paused=counts[RoutineStatus.PAUSED],
        parked=counts[RoutineStatus.PARKED],
        is_capped=len(statuses) > COUNTED_AT_MOST,
    )
