"""What a routine's status holds back: the one rule for PAUSED and PARKED.

A routine in one of these fires nothing, and its runs that have not started wait for a person. What a person asked for
by hand goes all the same, and so do its retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from routines_app.core.words import Reason, RoutineStatus, Source

HELD_AS: Mapping[str, Reason] = MappingProxyType(
    {RoutineStatus.PAUSED: Reason.PAUSED, RoutineStatus.PARKED: Reason.PARKED}
)
"""The statuses that hold runs back, and the reason that what they hold back gets."""

HELD_SINCE: Mapping[Source, Reason] = MappingProxyType(
    {Source[RoutineStatus(status).name]: reason for status, reason in HELD_AS.items()}
)
"""The same, by the source that the plan of such a routine has: it bears the status's name."""


def held_as(status: str, requested_at: datetime | None) -> Reason | None:
    """Why a run of a routine in this status waits for a person; None when it does not.

    `requested_at`: when somebody asked for it by hand. Its retries have that too, and go like it.
    """
    return None if requested_at is not None else HELD_AS.get(status)
