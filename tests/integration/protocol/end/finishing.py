"""Runs that have begun and are to be finished, and what is looked at afterwards."""

from __future__ import annotations

from typing import Any

from routines_app.core.words import Reason
from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.record.facts import RunFacts
from routines_app.protocol.record.outcome import failed
from routines_app.protocol.run.start import Started, start
from tests.acceptance.ringing import ring

BROKEN = failed(Reason.EXCEPTION, "ValueError: no", exception_names=("ValueError", "builtins.ValueError"))


def begin(made: Routine, **fields: Any) -> RunFacts:
    begun = start(ring(made, send=False, **fields).id, "me")
    assert isinstance(begun, Started)
    return begun.facts


def row(run: RunFacts) -> RoutineRun:
    return RoutineRun.objects.get(id=run.id)


def state(made: Routine) -> RoutineState:
    return RoutineState.objects.get(pk=made.pk)


def retry_of(run: RunFacts) -> RoutineRun | None:
    return RoutineRun.objects.filter(retry_of_id=run.id).first()
