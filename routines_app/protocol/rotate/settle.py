"""Settling: a member's chain has ended, and the member is owed, fresh, or waits after a failure.

Whoever ends a run that belongs to a rotation calls it in the transaction of that end. Compare-and-set on the member's
`run`, the first of the chain that is under way: an end that was settled before, or a chain that is no longer the
member's, changes nothing. Where an end could not be settled in its own transaction and its process died, the member
stays IN_FLIGHT without a chain that is, and the upkeep comes here (`upkeep/unsettled.py`).

Locks: the member's row, then, if a success wakes it, its rotation's. The routine's state and run come before them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from routines_app.core.rotation import Attempt, Progress, progress_of
from routines_app.core.transitions import ACTIVE
from routines_app.core.words import MemberStatus, RunStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.members import AT_ONCE, lock_members, wake, write
from routines_app.protocol.rotate.phases import WORK_FIELDS, phases_of


def settle(routine_ids: Collection[int], now: datetime) -> int:
    """Settle those of the members whose chain is over or gone; how many. The states are locked by the caller."""
    if not routine_ids:
        return 0
    ids, asleep = sorted(set(routine_ids)), set[int]()
    with transaction.atomic(using=ledger_alias()):
        settled = sum(_settle(ids[start : start + AT_ONCE], now, asleep) for start in range(0, len(ids), AT_ONCE))
        wake(asleep)
    return settled


def settle_ended(runs: Iterable[tuple[int, int | None]], now: datetime) -> int:
    """The same for runs that have just ended, each given as its routine and its rotation.

    Most belong to none, and a rotation's own, which seeds, is nobody's attempt: these cost no statement.
    """
    return settle({routine_id for routine_id, rotation_id in runs if rotation_id not in (None, routine_id)}, now)


def _settle(routine_ids: Sequence[int], now: datetime, asleep: set[int]) -> int:
    """`asleep` is told the rotations that a success wakes, when all the members' rows are locked."""
    flying = [member for member in lock_members(routine_ids) if member.status == MemberStatus.IN_FLIGHT]
    ends = _ends_of([member.run for member in flying if member.run is not None])
    over = [member for member in flying if member.run is not None and ends.get(member.run, _GONE) is not None]
    if not over:
        return 0
    routines = Routine.objects.using(ledger_alias()).only(*WORK_FIELDS).in_bulk([member.pk for member in over])
    rotations = Rotation.objects.using(ledger_alias()).in_bulk({member.rotation_id for member in over})
    succeeded: set[int] = set()
    for member in over:
        end = ends.get(member.run) or _GONE
        _move_on(member, end, rotations[member.rotation_id], routines[member.pk], now)
        if end.status == RunStatus.SUCCESS and end.is_of_a_rotation:
            succeeded.add(member.rotation_id)
    write(over)
    asleep.update(_that_idle(rotations, succeeded))
    return len(over)


class _End(NamedTuple):
    """How a chain has ended."""

    status: RunStatus
    phase: str
    is_of_a_rotation: bool


_GONE = _End(RunStatus.CANCELLED, "", is_of_a_rotation=False)
"""Its rows are not there any more: as if it had never run."""


def _ends_of(chains: Collection[UUID]) -> dict[UUID | None, _End | None]:
    """By chain: how its last run ended; None while it goes on. A chain without rows is not among them."""
    if not chains:
        return {}
    runs = RoutineRun.objects.using(ledger_alias()).filter(Q(AnyOf("id", chains)) | Q(AnyOf("chain", chains)))
    found: dict[UUID | None, _End | None] = {}
    for run_id, chain, status, phase, rotation_id in runs.order_by("attempt", "id").values_list(
        "id", "chain", "status", "phase", "rotation_id"
    ):
        is_over = status not in ACTIVE
        found[chain or run_id] = _End(RunStatus(status), phase, rotation_id is not None) if is_over else None
    return found


def _move_on(member: RotationMember, end: _End, rotation: Rotation, routine: Routine, now: datetime) -> None:
    if not end.is_of_a_rotation:  # it was on its way before it was a member's, or is gone: no attempt of this cycle
        member.status, member.run = MemberStatus.OWED, None
        return
    progress = _progress(member, end, rotation, routine, now)
    member.status, member.phase, member.failures = progress.status, progress.phase, progress.failures
    member.due_at, member.retry_tick = progress.due_at, progress.retry_tick
    member.run, member.attempted_at = None, now
    if progress.cycle_ended:
        member.stale_since, member.cycles = now, member.cycles + 1


def _progress(member: RotationMember, end: _End, rotation: Rotation, routine: Routine, now: datetime) -> Progress:
    """Counted in the phases as they are now: an edit, or another rotation, may have changed them under way.

    A run of a phase that is none any more goes on with nothing: the cycle begins anew.
    """
    names = [phase.name for phase in phases_of(rotation, routine)]
    known = end.phase in names
    if not known and end.status == RunStatus.SUCCESS:
        return Progress(status=MemberStatus.OWED, phase=0, failures=0)
    return progress_of(
        Attempt(
            status=end.status,
            phase=names.index(end.phase) if known else 0,
            phases=len(names),
            failures=member.failures,
            ticks=rotation.ticks,
            fresh_for=timedelta(milliseconds=rotation.fresh_for_ms),
            now=now,
        )
    )


def _that_idle(rotations: Mapping[int, Rotation], ids: Collection[int]) -> list[int]:
    return [pk for pk in ids if rotations[pk].idle_multiplier > 1 or rotations[pk].skip_ticks > 0]
