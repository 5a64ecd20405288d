"""After the nemesis: the beats catch up, the schedules end, and everything that is owed comes to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from routines_app import service
from routines_app.models import Routine, RoutineRun, RoutineState
from tests.chaos.fleet import ROTATION
from tests.chaos.nemesis import Nemesis

CATCH_UP_SECONDS = 60
REST_SECONDS = 180  # a message that was lost is missed after 10 s, 20 s, 40 s …
REST_OF_RAGE = 0.5  # and a narrow pool's queue is the longer the longer workers were killed: seconds for each


def settle(nemesis: Nemesis, names: list[str], tell: Callable[[str], None], raged_seconds: float) -> str:
    """Bring it to rest; what is not at rest in the end, or nothing."""
    for process in [*nemesis.beats, *nemesis.workers]:
        nemesis.thaw(process)
    if not waited(nemesis, lambda: not overdue(), CATCH_UP_SECONDS):
        return f"{overdue()} routines are overdue"
    tell("caught up")
    for routine in Routine.objects.filter(status="PAUSED"):
        service.resume_routine(routine.pk)
    end = datetime.now(UTC)
    for name in names:
        service.update_routine(name, end_at=end)
    service.update_rotation(ROTATION, end_at=end)
    for state in RoutineState.objects.exclude(hint_interval_ms=None, hint_next_at=None, hint_factor=None):
        service.clear_hints(state.pk)
    tell("the schedules have ended")
    if not waited(nemesis, at_rest, REST_SECONDS + raged_seconds * REST_OF_RAGE):
        return f"still active: {active()[:5]}"
    return ""


def waited(nemesis: Nemesis, condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not nemesis.stack.ask(condition):
        if time.monotonic() > deadline:
            return False
        nemesis.supervise()
        time.sleep(0.5)
    return True


def at_rest() -> bool:
    """Nothing is active. A chain that is exhausted only now parks its routine, whose runs then wait for a person."""
    for routine in Routine.objects.filter(status="PARKED"):
        service.reset_routine(routine.pk)
    return not active()


def overdue() -> int:
    return RoutineState.objects.filter(next_run_at__lt=datetime.now(UTC) - timedelta(seconds=3)).count()


def active() -> list[tuple[str, str, str]]:
    runs = RoutineRun.objects.filter(status__in=["PENDING", "RUNNING"])
    catching_up = RoutineState.objects.filter(next_source="catching-up")
    return [
        *runs.values_list("routine__name", "status", "reason"),
        *((state.routine.name, "catching up", "") for state in catching_up.select_related("routine")),
    ]
