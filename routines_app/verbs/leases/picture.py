"""The ledger in thought: candidates, active runs and places in pools, as the steps of a look would leave them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count
from uuid import UUID

from routines_app.core import lease_plan
from routines_app.core.admission import ActiveRun
from routines_app.core.holding import HELD_AS
from routines_app.core.lease_plan import LeaseDecision, Verdict
from routines_app.core.line import place_of
from routines_app.core.room import PoolUsage, Queued
from routines_app.core.words import Reason, RoutineStatus
from routines_app.verbs.leases import candidate as candidates
from routines_app.verbs.leases.candidate import Candidate
from routines_app.verbs.leases.facts import Facts, WaitingRun
from routines_app.verbs.leases.what_if import WhatIf

NO_ROOM = PoolUsage(ceiling=0, in_flight=0)
LATER_THAN_ALL = 0xFFFF << 112  # ids carry the time of their creation, and no row was created that late


class Picture:
    """What there is, under a policy; the steps change it and decide each candidate once."""

    def __init__(self, facts: Facts, what_if: WhatIf) -> None:
        self.facts = facts
        self.what_if = what_if
        self.now = facts.now
        self._usage = {
            pk: PoolUsage(ceiling=what_if.pools.get(pk, pool.ceiling), in_flight=pool.in_flight)
            for pk, pool in facts.pools.items()
        }
        self._active = {pk: {run.id: run for run in runs} for pk, runs in facts.active.items()}
        self._ids = count(LATER_THAN_ALL)
        self._candidates: dict[UUID, Candidate] = {}
        for run in facts.waiting:
            self.add(self._waiting(run))

    def _waiting(self, run: WaitingRun) -> Candidate:
        pk, what_if = run.routine_id, self.what_if
        found = candidates.waiting(
            run, what_if.priorities.get(pk, run.priority), what_if.concurrency.get(pk, run.policy)
        )
        if pk in what_if.paused and found.status in (RoutineStatus.ACTIVE, RoutineStatus.PAUSED):
            found.status = RoutineStatus.PAUSED.value
            if found.held is not None:  # as `plan/held.py` does it
                self.take_back(found)
                found.publish_after, found.reason = None, found.held
                self._stands_otherwise(found)
        return found

    def new_id(self) -> UUID:
        """The id of a row that would be written: the same each time, and later than all that exist."""
        return UUID(int=next(self._ids))

    def add(self, candidate: Candidate) -> None:
        self._candidates[candidate.id] = candidate

    def undecided(self) -> list[Candidate]:
        return [candidate for candidate in self._candidates.values() if candidate.verdict is None]

    def decisions(self, depth_weight: float) -> Iterator[LeaseDecision]:
        """Every candidate with its verdict, in the order of rank."""
        queues: dict[int | None, list[Queued]] = defaultdict(list)
        for candidate in self._candidates.values():
            # Room is given in the order of those that wait for it alone; the others are ranked beside them.
            queues[candidate.pool_id if candidate.queues else None].append(candidate.queued())
        order = lease_plan.in_rank_order([*queues.values()], self.now, depth_weight=depth_weight)
        for position, run_id in enumerate(order, 1):
            candidate = self._candidates[run_id]
            yield candidate.decision(position, self.pool_name(candidate.pool_id))

    def pool_name(self, pool_id: int | None) -> str | None:
        pool = None if pool_id is None else self.facts.pools.get(pool_id)
        return None if pool is None else pool.name

    # The active runs of a routine.

    def active(self) -> dict[int, list[ActiveRun]]:
        return {pk: list(runs.values()) for pk, runs in self._active.items()}

    def active_of(self, routine_id: int) -> list[ActiveRun]:
        return list(self._active.get(routine_id, {}).values())

    def activate(self, candidate: Candidate) -> None:
        """It was written, or stands otherwise than before: so the routine's other runs find it."""
        in_pool_queue = candidate.reason is Reason.CEILING and candidate.held is None
        sent = candidate.admitted_at is not None or in_pool_queue
        self._active.setdefault(candidate.routine_id, {})[candidate.id] = ActiveRun(
            id=candidate.id,
            place=place_of(candidate.trigger, candidate.slot, candidate.id),
            running=False,
            sent=sent,
            waits=not sent and candidate.reason is Reason.OVERLAP,
            held=not sent and candidate.held is not None,
        )

    def _stands_otherwise(self, candidate: Candidate) -> None:
        if candidate.id in self._active.get(candidate.routine_id, {}):
            self.activate(candidate)

    def ask_to_stop(self, routine_id: int, run_ids: Collection[UUID]) -> None:
        active = self._active.get(routine_id, {})
        for run_id in run_ids:
            if run_id in active:
                active[run_id] = replace(active[run_id], stop_requested_at=self.now)

    def end(self, routine_id: int, run_ids: Collection[UUID], reason: Reason = Reason.REPLACED) -> None:
        """Another takes their place, or stands for them: they end, and whatever room they had is free."""
        for run_id in run_ids:
            self._active.get(routine_id, {}).pop(run_id, None)
            candidate = self._candidates.get(run_id)
            if candidate is None:
                self._leave(self.facts.places.get(run_id))
            elif candidate.verdict is not Verdict.SKIP:
                self.take_back(candidate)
                candidate.decide(Verdict.SKIP, reason, lease_plan.skipped_because(reason))

    # Places in pools.

    def usage(self, pool_id: int) -> PoolUsage:
        """How full it is; of a pool that was made after the pools were read, nothing is known."""
        return self._usage.get(pool_id, NO_ROOM)

    def enter(self, candidate: Candidate) -> None:
        if candidate.pool_id is not None:
            self._change(candidate.pool_id, 1)
        candidate.admitted_at = self.now

    def take_back(self, candidate: Candidate) -> None:
        """It was let through, and is not any more."""
        if candidate.admitted_at is not None:
            self._leave(candidate.pool_id)
        candidate.admitted_at = None

    def _leave(self, pool_id: int | None) -> None:
        if pool_id is not None:
            self._change(pool_id, -1)

    def _change(self, pool_id: int, by: int) -> None:
        usage = self.usage(pool_id)
        self._usage[pool_id] = replace(usage, in_flight=max(0, usage.in_flight + by))

    def release(self, routine_ids: dict[int, datetime]) -> None:
        """The pauses of these routines have ended by then: what they held back is looked at again."""
        for candidate in self._candidates.values():
            ended_at = routine_ids.get(candidate.routine_id)
            if ended_at is not None and not candidate.is_new:
                candidate.status = RoutineStatus.ACTIVE.value
                if candidate.publish_after is None or candidate.reason in HELD_AS.values():
                    candidate.publish_after = max(candidate.eligible_at, ended_at)
                    candidate.reason = Reason.NONE
                    self._stands_otherwise(candidate)
