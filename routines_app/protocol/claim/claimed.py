"""What was decided about one due routine: what a claim writes of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from routines_app.core.words import HintKind
from routines_app.protocol.claim.due import NewState
from routines_app.protocol.claim.new_runs import NewRun


class Claimed(NamedTuple):
    """The decision about one routine."""

    state: NewState
    runs: tuple[NewRun, ...] = ()
    stop: tuple[UUID, ...] = ()
    cancel: tuple[UUID, ...] = ()
    supersede: tuple[UUID, ...] = ()
    replanned: bool = False
    drops: tuple[HintKind, ...] = ()
    """Hints that are used up or over."""
    expired: tuple[HintKind, ...] = ()
    """Of these, the ones that are over: the history says so."""
    moved: bool = False
    """The plan has moved and no row says so: a catch-up has ended, and failures or a hint count from then on."""

    @property
    def makes_way(self) -> tuple[UUID, ...]:
        """The runs that end, or are asked to, for the newest of these."""
        return (*self.stop, *self.cancel, *self.supersede)

    @property
    def newest(self) -> UUID:
        """The newest of the runs that are to go."""
        return next(run.id for run in reversed(self.runs) if run.is_pending)

    def after_waiting(self, wait: str) -> Claimed:
        """The same, for slots that have waited so until they were claimed."""
        return self._replace(runs=tuple([run._replace(waits=wait + (run.waits or "")) for run in self.runs]))

    def outside(self, now: datetime) -> Claimed:
        """The same, while no row can refer to the default pool."""
        return self._replace(runs=tuple([run.outside(now) for run in self.runs]))
