"""The public façade: everything that can be done with routines and runs.

A routine is given as an instance, an id or a name; a run as an instance or an id. Durations are milliseconds, a
timedelta or text such as `30s`, `10m`, `1.5h`, `1d`. Bad input raises one `RoutineError` subclass that names the field,
the value and what would be right, and nothing is written. Everything is safe inside a caller's transaction: messages,
wake-ups and signals go out after its commit.
"""

from __future__ import annotations

from routines_app.core.errors import (
    DuplicateName,
    InvalidValue,
    NotAllowed,
    NotFound,
    RoutineError,
    StaleVersion,
    UnknownTask,
)
from routines_app.protocol.run.current import CurrentRun, current_run
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.audit import Audit, audit
from routines_app.verbs.backfill import backfill
from routines_app.verbs.cancel import cancel_run
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.create import create_routine
from routines_app.verbs.delete import delete_routine
from routines_app.verbs.hint import clear_hints, propose_interval, propose_next_time
from routines_app.verbs.list_runs import list_runs
from routines_app.verbs.pause import pause_routine
from routines_app.verbs.plan import PlannedFire, plan
from routines_app.verbs.release_lease import release_lease
from routines_app.verbs.replan import replan_changed, replan_routine
from routines_app.verbs.reset import reset_routine
from routines_app.verbs.resume import resume_routine, slots_to_release
from routines_app.verbs.run_now import retry_run, run_now
from routines_app.verbs.update import update_routine

__all__ = [
    "Audit",
    "CurrentRun",
    "DuplicateName",
    "InvalidValue",
    "NotAllowed",
    "NotFound",
    "PlannedFire",
    "RoutineError",
    "StaleVersion",
    "UnknownTask",
    "archive_routine",
    "audit",
    "backfill",
    "cancel_run",
    "clear_hints",
    "create_routine",
    "current_run",
    "delete_routine",
    "list_runs",
    "pause_routine",
    "plan",
    "propose_interval",
    "propose_next_time",
    "registered_tasks",
    "release_lease",
    "replan_changed",
    "replan_routine",
    "reset_routine",
    "resume_routine",
    "retry_run",
    "run_now",
    "slots_to_release",
    "update_routine",
]
