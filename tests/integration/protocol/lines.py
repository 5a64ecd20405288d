"""A QUEUE routine whose slots come when a test says so, with a beat and a worker that do one thing at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from routines_app import service
from routines_app.core.words import RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.claim.claim import claim_due
from routines_app.protocol.end.finish import Finish, close_run, finish
from routines_app.protocol.publish.outbox import stamp
from routines_app.protocol.publish.pools import admit_pools
from routines_app.protocol.publish.waiting import dispatch_waiting
from routines_app.protocol.record import facts
from routines_app.protocol.record.outcome import Outcome, succeeded
from routines_app.protocol.run.start import Started, start
from tests.integration.conftest import NOTE, Hours

EVERY = timedelta(seconds=10)
SLOTS = ("schedule", "catch_up", "hint")


class Line:
    """What happens to the routine `line`, and how its runs stand."""

    def __init__(self, hours: Hours, **policies: Any) -> None:
        self.hours = hours
        values: dict[str, Any] = {
            "task": NOTE,
            "every": "10s",
            "concurrency_policy": "QUEUE",
            "retry_jitter": 0,
            "max_attempts": 1,
        }
        self.routine: Routine = service.create_routine("line", **(values | policies))

    def slot(self) -> RoutineRun:
        """The next slot comes and is claimed; the run of it, which is sent if it may go."""
        self.hours.now += EVERY
        self.claim()
        return RoutineRun.objects.filter(trigger__in=SLOTS).latest("scheduled_for", "id")

    def claim(self) -> None:
        stamp([message.run_id for message in claim_due(self.hours.now).messages], self.hours.now)

    def look(self) -> list[RoutineRun]:
        """A beat looks at what waits, now; what it has sent."""
        messages = [*dispatch_waiting(self.hours.now), *admit_pools(self.hours.now)]
        sent = [message.run_id for message in messages]
        stamp(sent, self.hours.now)
        return [RoutineRun.objects.get(id=run_id) for run_id in sent]

    def start(self, run: RoutineRun) -> RoutineRun:
        assert isinstance(start(run.id, "worker", lease=False), Started)
        return run

    def running(self) -> RoutineRun:
        """A slot that runs."""
        return self.start(self.slot())

    def end(self, run: RoutineRun, outcome: Outcome | None = None) -> Finish:
        """Its own worker ends it."""
        known = facts.load(run.id)
        assert known is not None
        return finish(known, outcome or succeeded(None))

    def close(self, run: RoutineRun, outcome: Outcome) -> Finish:
        """Somebody else ends it."""
        return close_run(run.id, outcome)

    def stands(self) -> list[tuple[str, str]]:
        """Status and reason of all runs, in the order of their time."""
        return list(RoutineRun.objects.order_by("scheduled_for", "id").values_list("status", "reason"))

    def waiting_slots(self) -> list[RoutineRun]:
        """There is never more than one."""
        held = RoutineRun.objects.filter(status=RunStatus.PENDING, admitted_at=None, reason="overlap")
        return list(held.filter(trigger__in=SLOTS).order_by("scheduled_for"))
