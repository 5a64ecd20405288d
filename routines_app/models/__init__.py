"""The tables, a concept for each module: columns, indexes, and the constraints that keep nonsense out.

No rules and no queries beyond that: what is accepted is `verbs/checking`, who writes which row when is `protocol`.
"""

from routines_app.core.words import ChangeKind, Role
from routines_app.models.moved_entry import MovedEntry, OldFire
from routines_app.models.node import Node
from routines_app.models.node_lifetime import NodeLifetime
from routines_app.models.pause_batch import PauseBatch
from routines_app.models.pool import Pool
from routines_app.models.rotation import Rotation
from routines_app.models.rotation_member import RotationMember
from routines_app.models.rotation_sample import RotationSample
from routines_app.models.routine import DECLARED_IN_CODE, DECLARED_IN_DATABASE, Routine
from routines_app.models.run import RoutineRun, new_run_id
from routines_app.models.run_log import RunLog
from routines_app.models.saved_filter import EVERYBODY, SavedFilter
from routines_app.models.schedule_change import ScheduleChange
from routines_app.models.state import HINT_COLUMNS, Hint, RoutineState, no_hint
from routines_app.models.verbose_names import name_all

__all__ = [
    "DECLARED_IN_CODE",
    "DECLARED_IN_DATABASE",
    "EVERYBODY",
    "HINT_COLUMNS",
    "ChangeKind",
    "Hint",
    "MovedEntry",
    "Node",
    "NodeLifetime",
    "OldFire",
    "PauseBatch",
    "Pool",
    "Role",
    "Rotation",
    "RotationMember",
    "RotationSample",
    "Routine",
    "RoutineRun",
    "RoutineState",
    "RunLog",
    "SavedFilter",
    "ScheduleChange",
    "new_run_id",
    "no_hint",
]

name_all()
