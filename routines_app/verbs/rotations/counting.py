"""How many members of rotations stand where, and who comes next; also for whoever asks again and again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache

from routines_app.conf import get_settings
from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember
from routines_app.protocol.ledger import clock
from routines_app.protocol.rotate.counts import Counts, Tally, counts_of, counts_of_many
from routines_app.protocol.rotate.members import members
from routines_app.protocol.rotate.picking import ranked

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
    kept = _kept("counts", rotation_id, now, max_age)
    if kept is not None:
        return Counts(**kept)
    counts = counts_of(rotation_id, now)
    if counts.members > MANY:
        _keep("counts", rotation_id, now, asdict(counts))
    return counts


def picks_at_most(
    rotation: Rotation, most: int, now: datetime, max_age: float | None, counted: int
) -> list[RotationMember]:
    """Whom the next tick would pick; of a rotation with very many members those whom it would have picked so many
    seconds ago, if they are not under way by now."""
    kept = _kept("picks", rotation.pk, now, max_age)
    if kept is not None and kept["most"] == most:
        still = members().filter(pk__in=kept["ids"]).exclude(status=MemberStatus.IN_FLIGHT)
        found = {each.pk: each for each in still.select_related("routine")}
        return [found[pk] for pk in kept["ids"] if pk in found]
    picks = ranked(rotation, most, now, counted=counted)
    if max_age is not None and counted > MANY:
        _keep("picks", rotation.pk, now, {"most": most, "ids": [each.pk for each in picks]})
    return picks


def _kept(what: str, rotation_id: int, now: datetime, max_age: float | None) -> dict[str, Any] | None:
    kept = cache.get(_key(what, rotation_id)) if max_age else None
    return kept[1] if kept is not None and max_age and abs(now - kept[0]) <= timedelta(seconds=max_age) else None


def _keep(what: str, rotation_id: int, now: datetime, answer: dict[str, Any]) -> None:
    cache.set(_key(what, rotation_id), (now, answer), KEPT_SECONDS)


def _key(what: str, rotation_id: int) -> str:
    return f"{get_settings().key_prefix}rotation-{what}-1:{rotation_id}"
