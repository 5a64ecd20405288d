"""How many members of rotations stand where: of one, of many at once, and for whoever asks again and again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime, timedelta

from django.core.cache import cache

from routines_app.conf import get_settings
from routines_app.models import Rotation
from routines_app.protocol.ledger import clock
from routines_app.protocol.rotate.counts import Counts, Tally, counts_of, counts_of_many

MANY = 1_000  # members that are counted in no time
KEPT_SECONDS = 60


def count_members(rotations: Collection[Rotation]) -> dict[int, Tally]:
    """Of each, by its id, in one statement."""
    found = counts_of_many([rotation.pk for rotation in rotations], clock.now()) if rotations else {}
    return {rotation.pk: found.get(rotation.pk, Tally()) for rotation in rotations}


def counts_at_most(rotation_id: int, now: datetime, max_age: float | None) -> Counts:
    """The numbers as they are, or, of a rotation with very many members, as they were so many seconds ago.

    All who look at its page share them, by Django's cache. None: nothing is kept, and nothing that was kept is taken.
    """
    if max_age is None:
        return counts_of(rotation_id, now)
    key = f"{get_settings().key_prefix}rotation-counts-1:{rotation_id}"
    kept = cache.get(key) if max_age else None
    if kept is not None and abs(now - kept[0]) <= timedelta(seconds=max_age):
        return Counts(**kept[1])
    counts = counts_of(rotation_id, now)
    if counts.members > MANY:
        cache.set(key, (now, asdict(counts)), KEPT_SECONDS)
    return counts
