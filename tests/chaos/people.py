"""What people do meanwhile: they edit, pause, cancel, ask and hint, and are refused now and then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from routines_app import service
from routines_app.models import RoutineRun
from tests.chaos.fleet import GIL_HOLDERS, MEMBERS, ROTATION


class People:
    """Each act says whether it was done."""

    def __init__(self, random: Random, names: list[str]) -> None:
        self.random = random
        self.names = names
        self.refused = 0

    def edit(self) -> bool:
        every: dict[str, Any] = self.random.choice(
            [{"interval_ms": self.random.randrange(12_000, 40_000)}, {"cron": "*/20 * * * * *"}]
        )
        return self.ask(lambda: service.update_routine(self.name(), **every))

    def pause(self) -> bool:
        until = self.random.choice([None, datetime.now(UTC) + timedelta(seconds=self.random.uniform(1, 15))])
        return self.ask(lambda: service.pause_routine(self.name(), until=until))

    def resume(self) -> bool:
        return self.ask(
            lambda: service.resume_routine(self.name(), release=self.random.choice(["SKIP", "LAST", "ALL"]))
        )

    def cancel(self) -> bool:
        def cancel_some() -> None:
            active = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"]).order_by("id")
            found = list(active.values_list("id", flat=True)[:20])
            if found:
                service.cancel_run(self.random.choice(found))

        return self.ask(cancel_some)

    def run_now(self) -> bool:
        return self.ask(lambda: service.run_now(self.name()))

    def hold_gil(self) -> bool:
        return self.ask(lambda: service.run_now(self.random.choice(GIL_HOLDERS)))

    def flood(self) -> bool:
        return self.ask(lambda: [service.run_now(self.name()) for _ in range(30)])

    def hint(self) -> bool:
        soon = datetime.now(UTC) + timedelta(seconds=2)
        verbs: list[Callable[[], object]] = [
            lambda: service.propose_interval(self.name(), "10s", ttl="30s"),
            lambda: service.propose_next_time(self.name(), soon, ttl="30s"),
            lambda: service.clear_hints(self.name()),
        ]
        return self.ask(self.random.choice(verbs))

    def rotate(self) -> bool:
        member = self.random.choice(MEMBERS)
        verbs: list[Callable[[], object]] = [
            lambda: service.run_now(member),
            lambda: service.touch(member),
            lambda: service.tick_rotation(ROTATION),
            lambda: service.pause_routine(member),
            lambda: service.resume_routine(member),
        ]
        return self.ask(self.random.choice(verbs))

    def reset(self) -> bool:
        return self.ask(lambda: service.reset_routine(self.name()))

    def name(self) -> str:
        return self.random.choice(self.names)

    def ask(self, verb: Callable[[], object]) -> bool:
        """A verb that makes no sense now is refused; a database that is away is somebody else's act."""
        try:
            verb()
        except service.RoutineError:
            self.refused += 1
            return False
        except (DatabaseError, InterfaceError):
            connection.close()
            return False
        return True
