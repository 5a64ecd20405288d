"""Who acts in the model: beats, workers with the bodies they execute. Each act can be cut off at a named point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from uuid import UUID

from django.db import transaction

from routines_app.coordination.envelope import Message
from routines_app.core.words import Reason
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import Lost, finish
from routines_app.protocol.publish import outbox, pools, waiting
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import Outcome, cancelled, failed, succeeded
from routines_app.protocol.run import heartbeat
from routines_app.protocol.run.start import Started, start
from routines_app.protocol.upkeep import lost_messages, orphans, reconcile
from tests.model.world import World


class Crash(Exception):
    """The process is gone at this point."""


class Beat:
    """Takes what is due or waiting, publishes it, stamps it; and remembers the heartbeats it has seen."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.observer = orphans.Observer()
        self.unsent: list[Message] = []
        """Committed by this beat and not yet published: it is slow, not dead."""

    def tick(self, cut_at: str = "") -> None:
        now = self.world.now
        for take in (
            lambda: claim_due(now).messages,
            lambda: waiting.dispatch_waiting(now),
            lambda: pools.admit_pools(now),
        ):
            messages = self.taken(take, crash=cut_at == "before commit")
            if cut_at == "slow after commit":
                self.unsent += messages
            elif cut_at == "after commit":
                continue
            elif cut_at == "after publish":
                self.publish_only(messages)
            else:
                outbox.send(messages)

    def taken(self, take: Callable[[], list[Message]], crash: bool) -> list[Message]:
        try:
            with transaction.atomic():
                messages = take()
                if crash:
                    raise Crash
                return messages
        except Crash:
            return []

    def publish_only(self, messages: list[Message]) -> None:
        if not self.world.broker_away:
            self.world.publish(messages)

    def send_late(self) -> None:
        messages, self.unsent = self.unsent, []
        outbox.send(messages)

    def reconcile(self) -> None:
        now = self.world.now
        orphans.orphan_silent(self.observer, now, self.world.monotonic)
        lost_messages.republish_lost(now)
        reconcile.release_forgotten(now)
        reconcile.continue_forgotten(now)


class Workers:
    """Two workers' bodies. A body that nobody beats the heart of is frozen or dead; a dead one never finishes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bodies: dict[UUID, RunFacts] = {}
        self.starts: Counter[UUID] = Counter()
        self.recorded: Counter[UUID] = Counter()
        """How often a body's own end was recorded."""

    def take(self, index: int, cut_at: str = "", *, again: bool = False) -> None:
        """Take a message off the queue, whichever comes first here; `again` leaves a copy behind."""
        if not self.world.queue:
            return
        index %= len(self.world.queue)
        message = self.world.queue[index] if again else self.world.queue.pop(index)
        if cut_at == "before start":
            return
        match start(UUID(message.run_id), "worker", exclusive=message.exclusive):
            case Started(facts):
                self.starts[facts.id] += 1
                if cut_at != "after start":
                    self.bodies[facts.id] = facts

    def end(self, index: int, outcome: str, cut_at: str = "") -> None:
        if not self.bodies:
            return
        run_id = sorted(self.bodies)[index % len(self.bodies)]
        facts = self.bodies.pop(run_id)
        if cut_at == "before finish":
            return
        if not isinstance(finish(facts, OUTCOMES[outcome]), Lost):
            self.recorded[run_id] += 1

    def beat_hearts(self) -> None:
        """All bodies say that they live, and do what they are told in return."""
        if not self.bodies:
            return
        pulses = heartbeat.beat_heart(dict.fromkeys(self.bodies))
        for run_id, facts in list(self.bodies.items()):
            if run_id not in pulses:
                del self.bodies[run_id]  # lost: whoever took the row away has recorded its end
            elif pulses[run_id].stop_reason:
                del self.bodies[run_id]
                finish(facts, cancelled(pulses[run_id].stop_reason))
            elif facts.exclusive and not self.world.redis_away:
                self.world.acquire(facts.routine_id, facts.token, 30)


OUTCOMES: dict[str, Outcome] = {
    "success": succeeded(None),
    "failure": failed(Reason.EXCEPTION, "as asked"),
    "interrupted": cancelled(Reason.INTERRUPTED),
}
