"""A tick by hand."""

from __future__ import annotations

from routines_app.models import RoutineRun
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.run_now import run_now


def tick_rotation(rotation: RotationRef, *, requested_by: object = None) -> RoutineRun:
    """Let the rotation tick now, besides its schedule, also while it idles or is paused: `run_now` of its routine.

    The run says what came of it: SUCCESS `picked`, SKIPPED `idle` or SKIPPED `full`.
    """
    return run_now(find_rotation(rotation).routine, requested_by=requested_by)
