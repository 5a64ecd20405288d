"""A member that somebody runs by hand: its next phase, which counts in flight and goes on with the cycle."""

from __future__ import annotations

from typing import NamedTuple

from routines_app.core.words import MemberStatus
from routines_app.models import Rotation, RotationMember, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.members import lock_members, members
from routines_app.protocol.rotate.phases import Phase, number_of, phases_of


class Turn(NamedTuple):
    """What comes next of a member, whose row is locked."""

    member: RotationMember
    rotation: Rotation
    phase: Phase

    @property
    def is_in_flight(self) -> bool:
        return self.member.status == MemberStatus.IN_FLIGHT


def lock_turn(routine: Routine) -> Turn | None:
    """The member's turn; None where the routine is none. The routine's state is locked, so no tick is at it. Waits."""
    found = lock_members([routine.pk]) if routine.rotation_id is not None else []
    if not found:
        return None
    member = found[0]
    rotation = Rotation.objects.using(ledger_alias()).get(pk=member.rotation_id)
    phases = phases_of(rotation, routine)
    member.phase = number_of(phases, member.phase)
    return Turn(member, rotation, phases[member.phase])


def take_turn(turn: Turn, run: RoutineRun) -> None:
    """The member is in flight with this run."""
    members().filter(pk=turn.member.pk).update(
        status=MemberStatus.IN_FLIGHT, run=run.pk, phase=turn.member.phase, due_at=None, retry_tick=None
    )
