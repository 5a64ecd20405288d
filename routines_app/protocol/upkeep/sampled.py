"""How each rotation stands is noted every ten minutes, for its chart; what is older than a month goes.

A sample's time is the ten minutes' beginning, and a rotation has one of it: beats that come together agree.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime, timedelta

from django.db import Error
from django.db.models import Exists, OuterRef

from routines_app.core.keys import EPOCH
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation, RotationSample
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage, retrying_conflicts
from routines_app.protocol.ledger.timeouts import bounded
from routines_app.protocol.rotate.counts import counts_of

EVERY = timedelta(minutes=10)
KEPT = timedelta(days=30)
SAMPLED_AT_ONCE = 20  # each reads all its members: the others' turn comes with the next pass
PRUNED_AT_ONCE = 1_000

logger = logging.getLogger(__name__)

_NOT_SAMPLED = {"members", "stalest_id", "stalest_name"}


class Sampling:
    """This process's memory of how far it is: where nothing is left to sample, a pass costs no statement."""

    def __init__(self) -> None:
        self._done: datetime | None = None
        self._at: datetime | None = None
        self._failed: set[int] = set()
        """Of these ten minutes. They are not tried again in them, so that the others' turn comes."""

    def once(self, now: datetime) -> int:
        """Note how some rotations stand that have no sample of these ten minutes; how many."""
        at = EPOCH + (now - EPOCH) // EVERY * EVERY
        if at == self._done:
            return 0
        if at != self._at:
            self._at, self._failed = at, set()
        missing = _missing(at, self._failed)
        failed = {rotation_id for rotation_id in missing if not _sample(rotation_id, at, now)}
        self._failed |= failed
        if len(missing) < SAMPLED_AT_ONCE:
            prune_samples(now)
            self._done = at
        return len(missing) - len(failed)


def _missing(at: datetime, failed: Collection[int]) -> list[int]:
    has_one = RotationSample.objects.filter(rotation=OuterRef("pk"), at=at)
    rotations = Rotation.objects.using(ledger_alias()).exclude(routine__status=RoutineStatus.ARCHIVED)
    rotations = rotations.filter(~Exists(has_one)).exclude(pk__in=failed)
    with bounded():
        return list(rotations.order_by("pk").values_list("pk", flat=True)[:SAMPLED_AT_ONCE])


def _sample(rotation_id: int, at: datetime, now: datetime) -> bool:
    """Whether it worked. One that fails has no sample of these ten minutes, and the others have theirs."""
    try:
        retrying_conflicts(lambda: _write(rotation_id, at, now))
    except Exception as error:
        if isinstance(error, Error) and is_outage(error):
            raise
        logger.warning("how rotation %s stands could not be noted: %r", rotation_id, error)
        return False
    return True


def _write(rotation_id: int, at: datetime, now: datetime) -> None:
    with bounded():
        samples = RotationSample.objects.using(ledger_alias())
        samples.bulk_create([_sample_of(rotation_id, at, now)], ignore_conflicts=True)


def _sample_of(rotation_id: int, at: datetime, now: datetime) -> RotationSample:
    counts = {what: count for what, count in asdict(counts_of(rotation_id, now)).items() if what not in _NOT_SAMPLED}
    return RotationSample(rotation_id=rotation_id, at=at, **counts)


def prune_samples(now: datetime) -> int:
    """Delete what is older than a month, archived rotations' too; how many."""
    samples = RotationSample.objects.using(ledger_alias())
    with bounded():
        # They were written in the order of their times: what is old is at the beginning, and is found without a scan.
        first = samples.order_by("pk").values_list("pk", "at")[:PRUNED_AT_ONCE]
        old = [sample_id for sample_id, at in first if at < now - KEPT]
        return samples.filter(pk__in=old)._raw_delete(ledger_alias()) if old else 0
