"""The public façade: everything that can be done with routines and runs, and all that interfaces may use besides.

A routine is given as an instance, an id or a name: an integer is an id, and text is a name. A run is given as an
instance or an id. Durations are a timedelta or text such as `30s`, `10m`, `1.5h`, `1d`; a bare number is refused, but
for milliseconds where the name ends in `_ms`. Bad input raises one `RoutineError` subclass that names the field, the
value and what would be right, and nothing is written. Everything is safe inside a caller's transaction: messages,
wake-ups and signals go out after its commit.

The admin, the views, the template tags and the command line call what is listed here and read querysets of
`routines_app.models`. What one of them needs from below is made a verb or a read first, and listed in its group.
"""

from __future__ import annotations

from routines_app.core.cron import parse_cron
from routines_app.core.cron_fields import Fields as CronFields
from routines_app.core.durations import format_duration, parse_duration
from routines_app.core.errors import (
    DuplicateName,
    Held,
    ImportRefused,
    InvalidValue,
    NotAllowed,
    NotFound,
    RoutineError,
    StaleVersion,
    UnknownTask,
)
from routines_app.core.keys import batch_of
from routines_app.core.limits import DEFAULT_SECONDS as DEFAULT_TIME_OUT_SECONDS
from routines_app.core.triggers import (
    CronTrigger,
    ManualTrigger,
    OnceTrigger,
    Slots,
    Span,
    Trigger,
    count_between,
    next_slot,
    slots_between,
)
from routines_app.core.typed_moment import read_moment
from routines_app.core.zones import clock_changes
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.rotate.counts import Tally, standings
from routines_app.protocol.run.current import CurrentRun, current_run
from routines_app.verbs.abandon import abandon_run
from routines_app.verbs.agenda import Agenda, Load, PoolForecast, agenda
from routines_app.verbs.archive import archive_routine
from routines_app.verbs.audit import Audit, audit
from routines_app.verbs.backfill import BackfillPlan, backfill, plan_backfill
from routines_app.verbs.backfill_status import BackfillStatus, backfill_status, cancel_backfill
from routines_app.verbs.batches.chosen import ChosenDone, pause_routines, resume_routines
from routines_app.verbs.batches.filling import continue_pause_batch, pause_batch
from routines_app.verbs.batches.finding import find_pause_batch, list_pause_batches
from routines_app.verbs.batches.resuming import (
    BatchRelease,
    BatchResumed,
    preview_resume_batch,
    resume_pause_batch,
)
from routines_app.verbs.batches.selection import PausePreview, preview_pause_batch
from routines_app.verbs.cancel import cancel_run
from routines_app.verbs.checking.arguments import longest_json
from routines_app.verbs.checking.code_says import differences
from routines_app.verbs.checking.known_tasks import OWN_PREFIX as OWN_TASKS
from routines_app.verbs.checking.known_tasks import doubt_about, registered_tasks
from routines_app.verbs.checking.lookup import find_pool, find_rotation, find_routine, is_id
from routines_app.verbs.checking.rules import is_storable, typed_moment
from routines_app.verbs.checking.sizes import (
    LONGEST_ADDRESS,
    LONGEST_FORM,
    LONGEST_QUESTION,
    LONGEST_SEARCH,
    LONGEST_WORDS,
    SEARCH_WORDS,
)
from routines_app.verbs.checking.typed_json import read_json
from routines_app.verbs.checking.validation import DECLARED_FIELDS, clean_value, default_timezone
from routines_app.verbs.clear_overrides import WaitingRequest, WaitingRequests, clear_overrides, requests_to_clear
from routines_app.verbs.copy import copy_routine
from routines_app.verbs.create import create_routine
from routines_app.verbs.declarations import Found, read_declarations
from routines_app.verbs.delete import delete_routine
from routines_app.verbs.distinct import groups_of_routines, known_anywhere, unregistered_tasks
from routines_app.verbs.doctor.answers import Level
from routines_app.verbs.doctor.doctor import Finding, doctor
from routines_app.verbs.draft import drafted_trigger, stored_trigger
from routines_app.verbs.drain_pool import drain_pool, open_pool, stop_pool
from routines_app.verbs.edit_pools import create_pool, delete_pool, is_pool_used, update_pool
from routines_app.verbs.ensure import ensure_routine
from routines_app.verbs.error_groups import ErrorGroups, error_groups
from routines_app.verbs.exports.export import export_routines
from routines_app.verbs.exports.import_words import FileFormat, ImportAction
from routines_app.verbs.exports.importing import import_routines, plan_import
from routines_app.verbs.exports.plan_values import FieldChange, ImportPlan, PlannedEntry
from routines_app.verbs.exports.texts import LONGEST as LONGEST_EXPORT
from routines_app.verbs.exports.texts import read_export, render_export
from routines_app.verbs.give_back import give_back
from routines_app.verbs.health.health import Health, health
from routines_app.verbs.health.notices.ask import Notices, fleet_notices, recent_notices
from routines_app.verbs.health.notices.backlog import HELD_BY_PEOPLE
from routines_app.verbs.health.notices.notice import Notice, NoticeKind, NoticeLevel
from routines_app.verbs.health.recent import recent_health
from routines_app.verbs.health.shared import SharedAnswer
from routines_app.verbs.health.standing import Presence, presence
from routines_app.verbs.held_rows import impatiently
from routines_app.verbs.hint import clear_hints, propose_factor, propose_interval, propose_next_time
from routines_app.verbs.lease_of import Lease, lease_of
from routines_app.verbs.list_pools import list_pools, pool_counts
from routines_app.verbs.list_runs import list_runs
from routines_app.verbs.many_runs import (
    Counted,
    ManyRuns,
    ManyVerb,
    PassedOver,
    Piece,
    cancel_runs,
    count_for,
    piece_for,
    retry_runs,
)
from routines_app.verbs.moving.comparing import Comparison, FireDifference
from routines_app.verbs.moving.fired_twice import fired_twice
from routines_app.verbs.moving.move import move_over, plan_move
from routines_app.verbs.moving.move_values import Move, MoveAct, MovePlan
from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.pause import pause_routine, pause_until
from routines_app.verbs.plan import PlannedFire, plan, plan_of
from routines_app.verbs.plan_leases import Difference, LeaseDecision, LeasePlan, Verdict, plan_leases
from routines_app.verbs.prune_runs import prune_runs
from routines_app.verbs.queue import Queue, QueuedRun, RunningRun, queue
from routines_app.verbs.reading import (
    LARGE_FIELDS,
    SecondsBetween,
    now,
    oldest_run_id,
    rows_together,
    run_created_at,
)
from routines_app.verbs.release_lease import release_lease
from routines_app.verbs.replan import replan_changed, replan_routine
from routines_app.verbs.reset import reset_routine
from routines_app.verbs.resume import resume_routine, slots_to_release
from routines_app.verbs.rotations.ask_seeding import ask_seeding
from routines_app.verbs.rotations.callables import doubt_about_seed
from routines_app.verbs.rotations.counting import count_members
from routines_app.verbs.rotations.create import create_rotation
from routines_app.verbs.rotations.lifecycle import archive_rotation, pause_rotation, resume_rotation
from routines_app.verbs.rotations.list import list_rotations
from routines_app.verbs.rotations.members import add_members, remove_members
from routines_app.verbs.rotations.seed import seed_rotation
from routines_app.verbs.rotations.status import next_tick_at, rotation_status
from routines_app.verbs.rotations.tick import tick_rotation
from routines_app.verbs.rotations.touch import touch, touch_members
from routines_app.verbs.rotations.update import update_rotation
from routines_app.verbs.rotations.values import Member, MembersAdded, Pick, RotationStatus, Seeded
from routines_app.verbs.run_again import retry_run
from routines_app.verbs.run_errors import ErrorGroup, error_line, error_start
from routines_app.verbs.run_now import run_now
from routines_app.verbs.run_selection import RunSelection
from routines_app.verbs.run_stalest import run_stalest
from routines_app.verbs.saved_filters import remove_filter, save_filter, saved_filters
from routines_app.verbs.search_index import TRIGRAM, finds_parts, index_search
from routines_app.verbs.second_opinion import Disagreement, disagreements, second_opinion
from routines_app.verbs.shadow.report import ShadowedRoutine, ShadowReport, ShadowSlot, shadow_report
from routines_app.verbs.shadow.switch_back import switch_back
from routines_app.verbs.shadow.switch_over import SwitchOver, switch_over
from routines_app.verbs.sync import Act, Step, differing, sync_declared
from routines_app.verbs.upcoming import fires_per_hour
from routines_app.verbs.update import update_routine
from routines_app.verbs.why.values import Because, Sentence, Why
from routines_app.verbs.why.why import typed_at, why, why_of

# Routines: what people do with them.
__all__ = [
    "archive_routine",
    "clear_hints",
    "copy_routine",
    "create_routine",
    "delete_routine",
    "ensure_routine",
    "find_routine",
    "give_back",
    "pause_routine",
    "pause_until",
    "propose_factor",
    "propose_interval",
    "propose_next_time",
    "release_lease",
    "replan_changed",
    "replan_routine",
    "reset_routine",
    "resume_routine",
    "update_routine",
]
# Runs: asking for them, stopping them, and the run that a task's body is in.
__all__ += ["CurrentRun", "abandon_run", "backfill", "cancel_run", "current_run"]
__all__ += ["BackfillPlan", "BackfillStatus", "backfill_status", "batch_of", "cancel_backfill", "plan_backfill"]
__all__ += ["clear_overrides", "list_runs", "prune_runs", "retry_run", "run_now", "run_stalest"]
# Many runs: which are meant, and acting on them.
__all__ += ["Counted", "ErrorGroup", "ErrorGroups", "ManyRuns", "ManyVerb", "PassedOver", "Piece", "RunSelection"]
__all__ += ["cancel_runs", "count_for", "error_groups", "piece_for", "retry_runs"]
# Routines in code: bringing them into the ledger, and where people differ from it.
__all__ += ["Act", "Found", "Step", "differences", "differing", "read_declarations", "sync_declared"]
# Many pauses as one, or each for itself.
__all__ += ["ChosenDone", "pause_routines", "resume_routines"]
__all__ += ["BatchRelease", "BatchResumed", "PausePreview", "continue_pause_batch", "find_pause_batch"]
__all__ += ["list_pause_batches", "pause_batch", "preview_pause_batch", "preview_resume_batch", "resume_pause_batch"]
# Pools.
__all__ += ["create_pool", "delete_pool", "find_pool", "is_pool_used", "list_pools", "pool_counts", "update_pool"]
__all__ += ["drain_pool", "open_pool", "stop_pool"]
# Rotations: many members, kept fresh with a fixed budget.
__all__ += ["archive_rotation", "ask_seeding", "create_rotation", "find_rotation", "list_rotations", "pause_rotation"]
__all__ += ["resume_rotation", "rotation_status", "seed_rotation", "tick_rotation", "update_rotation"]
__all__ += ["Member", "MembersAdded", "Pick", "RotationStatus", "Seeded"]
__all__ += ["add_members", "remove_members", "touch", "touch_members"]
__all__ += ["Tally", "count_members", "next_tick_at", "standings"]
# Exports: routines as files, and back.
__all__ += ["LONGEST_EXPORT", "FieldChange", "FileFormat", "ImportAction", "ImportPlan", "PlannedEntry"]
__all__ += ["export_routines", "import_routines", "plan_import", "read_export", "render_export"]
# Moving over from another scheduler: making routines, beside it, from it to us, and back.
__all__ += ["Comparison", "FireDifference", "Move", "MoveAct", "MovePlan", "OldScheduler"]
__all__ += ["fired_twice", "move_over", "plan_move"]
__all__ += ["ShadowReport", "ShadowSlot", "ShadowedRoutine", "SwitchOver"]
__all__ += ["shadow_report", "switch_back", "switch_over"]
# Looking: what will fire, what is held, whether the ledger balances.
__all__ += ["Audit", "Lease", "PlannedFire", "Span", "audit", "fires_per_hour", "lease_of", "plan", "plan_of"]
__all__ += ["slots_to_release"]
__all__ += ["Agenda", "Load", "PoolForecast", "agenda"]
__all__ += ["Difference", "LeaseDecision", "LeasePlan", "Verdict", "plan_leases"]
__all__ += ["Queue", "QueuedRun", "RunningRun", "WaitingRequest", "WaitingRequests", "queue", "requests_to_clear"]
# Why did it run, or not?
__all__ += ["Because", "Sentence", "Why", "typed_at", "why", "why_of"]
# Is somebody doing the work, and what is wrong?
__all__ += ["Finding", "Health", "Level", "doctor", "health", "recent_health"]
__all__ += ["Notice", "NoticeKind", "NoticeLevel", "Notices", "fleet_notices", "recent_notices"]
__all__ += ["HELD_BY_PEOPLE", "Presence", "presence"]
# Schedules as values: what a trigger means, also one that is not saved.
__all__ += ["CronFields", "CronTrigger", "ManualTrigger", "OnceTrigger", "Slots", "Trigger"]
__all__ += ["clock_changes", "count_between", "next_slot", "parse_cron", "slots_between"]
__all__ += ["drafted_trigger", "stored_trigger"]
__all__ += ["Disagreement", "disagreements", "second_opinion"]
# Forms: what a field accepts and how it is written.
__all__ += ["DECLARED_FIELDS", "DEFAULT_TIME_OUT_SECONDS"]
__all__ += ["clean_value", "default_timezone", "format_duration", "is_id", "is_storable", "typed_moment"]
__all__ += ["read_moment"]
__all__ += ["doubt_about", "doubt_about_seed", "parse_duration", "read_json", "registered_tasks"]
# Requests: how much one may bring.
__all__ += ["LONGEST_ADDRESS", "LONGEST_FORM", "LONGEST_QUESTION", "LONGEST_SEARCH", "LONGEST_WORDS"]
__all__ += ["SEARCH_WORDS", "longest_json"]
# Lists: what they can be searched and filtered by.
__all__ += ["OWN_TASKS", "TRIGRAM", "finds_parts", "groups_of_routines", "index_search", "known_anywhere"]
__all__ += ["remove_filter", "save_filter", "saved_filters", "unregistered_tasks"]
# Querysets: what those need to know who read the ledger themselves.
__all__ += [
    "LARGE_FIELDS",
    "SecondsBetween",
    "error_line",
    "error_start",
    "ledger_alias",
    "now",
    "oldest_run_id",
    "readable",
    "rows_together",
    "run_created_at",
]
# Web requests: verbs that wait for nobody, answers that many ask for.
__all__ += ["SharedAnswer", "impatiently"]
# Errors.
__all__ += [
    "DuplicateName",
    "Held",
    "ImportRefused",
    "InvalidValue",
    "NotAllowed",
    "NotFound",
    "RoutineError",
    "StaleVersion",
    "UnknownTask",
]
