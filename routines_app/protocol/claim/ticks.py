"""The ticks of one claim: noted while it decides, done when their rows are inserted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from routines_app.coordination.envelope import Message
from routines_app.core.rotation import AWAKE, MOST_BUDGET, TICK_TASK, room
from routines_app.core.words import Reason, RunStatus
from routines_app.models import Rotation, Routine, RoutineRun
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.due import DueRow, Taken
from routines_app.protocol.claim.new_runs import NewRun
from routines_app.protocol.claim.tick import lock_free_rotations, rotations_there, tick
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.messages import messages_of

# Each takes some statements of its own, and its runs their time; meanwhile the batch's other rows are locked.
AT_ONCE = 20
RUNS_AT_ONCE = MOST_BUDGET  # of all the ticks together: one that may make so many is alone


@dataclass(slots=True)
class Done:
    """What the ticks of a claim came to."""

    ticks: list[RoutineRun] = field(default_factory=list)
    runs: list[RoutineRun] = field(default_factory=list)
    """Of members, and those that seed."""
    messages: list[Message] = field(default_factory=list)


def with_rotations(taken: Taken) -> tuple[Taken, dict[int, Rotation]]:
    """With the rotations whose ticks are due, locked; those that somebody holds are left out."""
    ticking = [row.routine_id for row in taken.rows if row.task == TICK_TASK]
    if not ticking:
        return taken, {}
    rotations = lock_free_rotations(ticking)
    held = rotations_there([routine_id for routine_id in ticking if routine_id not in rotations])
    rows = [row for row in taken.rows if row.routine_id not in held]
    return taken._replace(rows=rows, held=[*taken.held, *held]), rotations


class DueTicks:
    """Which of the rows that a claim inserts are ticks."""

    def __init__(self, rotations: Mapping[int, Rotation], now: datetime) -> None:
        self._rotations = rotations
        self._now = now
        self._noted: dict[UUID, tuple[DueRow, NewRun]] = {}
        self._runs = 0

    def __contains__(self, run_id: UUID) -> bool:
        return run_id in self._noted

    def wake(self, rotation_id: int | None) -> None:
        """A member of it is back, in this claim: its row, which was read before that, must not idle on."""
        if (rotation := self._rotations.get(rotation_id or 0)) is not None:
            rotation.idle_multiplier, rotation.skip_ticks = AWAKE.multiplier, AWAKE.skip_ticks

    def has_room_for(self, routine_id: int) -> bool:
        """Whether its tick can be one of this claim's. Asked before it is decided: what is noted is done."""
        if not self._noted:
            return True
        return len(self._noted) < AT_ONCE and self._runs + self._may_make(routine_id) <= RUNS_AT_ONCE

    def _may_make(self, routine_id: int) -> int:
        """At most: what is in flight, and how many are owed, is only known when it looks."""
        rotation = self._rotations.get(routine_id)
        if rotation is None or rotation.skip_ticks > 0:
            return 0
        return room(budget=rotation.budget, max_in_flight=rotation.max_in_flight, in_flight=0)

    def note(self, row: DueRow, claimed: Claimed) -> Claimed:
        """The same decision, with the slots that fire as ended rows: a tick waits for nothing and counts in no pool."""
        if row.routine_id not in self._rotations:
            raise LookupError("its rotation is gone")
        runs = []
        for run in claimed.runs:
            if run.is_pending:
                run = run.ended(RunStatus.SKIPPED, Reason.IDLE, self._now)._replace(pool_id=None)
                self._noted[run.id] = (row, run)
                self._runs += self._may_make(row.routine_id)
            runs.append(run)
        return claimed._replace(runs=tuple(runs))

    def do(self, inserted: Collection[UUID]) -> Done:
        """Do those whose rows are new: a slot that already had its row has been a tick before."""
        done = Done()
        for run_id, (row, run) in self._noted.items():
            if run_id in inserted:
                ticked = tick(self._rotations[row.routine_id], run_id, self._now)
                started_at = self._now if ticked.status == RunStatus.SUCCESS else None
                ended = ended_run(row, run._replace(status=ticked.status.value, reason=ticked.reason.value))
                ended.started_at, ended.result = started_at, ticked.saw
                done.ticks.append(ended)
                done.runs += ticked.runs
        if admitted := [run.pk for run in done.runs if run.admitted_at is not None]:
            done.messages = messages_of(RoutineRun.objects.using(ledger_alias()).filter(AnyOf("id", admitted)))
        return done


def ended_run(row: DueRow, run: NewRun) -> RoutineRun:
    """The row as receivers of the signals see it, without reading it back."""
    return RoutineRun(**run._asdict(), routine=Routine(pk=row.routine_id, name=row.name, task=row.task))
