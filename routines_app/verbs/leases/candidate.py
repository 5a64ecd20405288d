"""A candidate of a plan of leases: a run that waits, or a slot that is due and has no row yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from routines_app.core.holding import held_as
from routines_app.core.lease_plan import LeaseDecision, Verdict, replaces
from routines_app.core.room import Queued
from routines_app.core.words import Reason
from routines_app.protocol.claim.new_runs import NewRun
from routines_app.protocol.publish.waiting_row import WaitingRow
from routines_app.verbs.leases.facts import DueSlot, WaitingRun

_REASONS = frozenset(Reason)


@dataclass(slots=True, kw_only=True)
class Candidate:
    """What is known of it, where it stands, and, once that is decided, what becomes of it."""

    id: UUID
    """The run's, or that of a row that a claim would write: later than all others."""
    is_new: bool
    routine_id: int
    name: str
    slot: datetime
    until: datetime | None = None
    count: int = 1
    trigger: str
    requested_at: datetime | None
    pool_id: int | None
    taken_in: bool = True
    """It is in that pool; or a look that judges it takes it in."""
    eligible_at: datetime
    admitted_at: datetime | None
    publish_after: datetime | None
    reason: Reason
    status: str
    """The routine's."""
    policy: str
    priority: str
    expires_ms: int | None
    emphasis: float
    depth: int
    last_success_at: datetime | None

    verdict: Verdict | None = None
    queues: bool = False
    """It was among those that share the room of its pool."""
    replaced: int = 0
    """How many other runs it makes go."""
    why: str = ""

    @property
    def held(self) -> Reason | None:
        """Why the routine's status holds it back."""
        return held_as(self.status, self.requested_at)

    def decide(self, verdict: Verdict, reason: Reason, why: str) -> None:
        self.verdict, self.reason, self.why = verdict, reason, why

    def replace_others(self, number: int) -> None:
        self.replaced += number

    def waits_for_room(self, now: datetime) -> bool:
        """It queues in its pool and nothing else holds it (as `publish/pools.py` asks the ledger)."""
        queues = self.pool_id is not None and self.taken_in and self.admitted_at is None and self.publish_after is None
        return queues and self.eligible_at <= now and self.held is None

    def queued(self) -> Queued:
        """What ranks it."""
        return Queued(
            id=self.id,
            routine_id=self.routine_id,
            pool_id=self.pool_id,
            requested_at=self.requested_at,
            eligible_at=self.eligible_at,
            priority=self.priority,
            emphasis=self.emphasis,
            depth=self.depth,
            last_success_at=self.last_success_at,
        )

    def waiting_row(self) -> WaitingRow:
        """What judging it needs; nothing is sent, so what a message would say is left out."""
        return WaitingRow(
            id=self.id,
            routine_id=self.routine_id,
            pool_id=self.pool_id,
            task="",
            queue="",
            timeout_ms=None,
            trigger=self.trigger,
            requested_at=self.requested_at,
            scheduled_for=self.slot,
            eligible_at=self.eligible_at,
            rotation_id=None,
            name=self.name,
            status=self.status,
            priority=self.priority,
            policy=self.policy,
            expires_ms=self.expires_ms,
            args=None,
            kwargs=None,
            options=None,
        )

    def decision(self, position: int, pool: str | None) -> LeaseDecision:
        if self.verdict is None:
            raise AssertionError("every candidate is decided")
        verdict, why = self.verdict, self.why
        if self.replaced and verdict is not Verdict.SKIP:
            verdict, why = Verdict.REPLACE, replaces(self.replaced, why)
        return LeaseDecision(
            position=position,
            routine_id=self.routine_id,
            name=self.name,
            run_id=None if self.is_new else self.id,
            slot=self.slot,
            trigger=self.trigger,
            pool=pool,
            verdict=verdict,
            reason=self.reason,
            why=why,
        )


def waiting(run: WaitingRun, priority: str, policy: str) -> Candidate:
    """A run that waits, with its routine's policies as they are or would be."""
    return Candidate(
        id=run.id,
        is_new=False,
        routine_id=run.routine_id,
        name=run.name,
        slot=run.scheduled_for,
        trigger=run.trigger,
        requested_at=run.requested_at,
        pool_id=run.pool_id,
        taken_in=run.pool_id == run.own_pool_id,
        eligible_at=run.eligible_at,
        admitted_at=run.admitted_at,
        publish_after=run.publish_after,
        reason=Reason(run.reason) if run.reason in _REASONS else Reason.NONE,  # no look asks for the word
        status=run.status,
        policy=policy,
        priority=priority,
        expires_ms=run.expires_ms,
        emphasis=run.emphasis,
        depth=run.depth,
        last_success_at=run.last_success_at,
    )


def new(run: NewRun, run_id: UUID, due: DueSlot) -> Candidate:
    """A row that a claim would write."""
    row = due.row
    return Candidate(
        id=run_id,
        is_new=True,
        routine_id=row.routine_id,
        name=row.name,
        slot=run.scheduled_for,
        until=run.scheduled_until,
        count=run.occurrences,
        trigger=run.trigger,
        requested_at=None,
        pool_id=run.pool_id,
        eligible_at=run.eligible_at,
        admitted_at=run.admitted_at,
        publish_after=run.publish_after,
        reason=Reason(run.reason),
        status=row.status,
        policy=row.concurrency_policy,
        priority=row.priority,
        expires_ms=None,  # it is judged only when its time comes, and that is not here
        emphasis=due.emphasis,
        depth=due.depth,
        last_success_at=due.last_success_at,
    )
