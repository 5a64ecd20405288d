"""How people call the codes that are stored: a label for each word, in the language of whoever looks.

The context of a message names the kind of word, for one English word may need two others elsewhere: a routine that is
"archived", a run that was "archived" away.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.utils.translation import pgettext_lazy

from routines_app.core.words import (
    CatchUpPolicy,
    ChangeKind,
    ConcurrencyPolicy,
    HintKind,
    MemberStatus,
    Priority,
    Reason,
    Role,
    RoutineStatus,
    RunStatus,
    RunTrigger,
    Source,
    TriggerKind,
)

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

LABELS: Mapping[type[StrEnum], Mapping[StrEnum, _StrPromise]] = MappingProxyType(
    {
        TriggerKind: {
            TriggerKind.CRON: pgettext_lazy("trigger of a routine", "Cron"),
            TriggerKind.INTERVAL: pgettext_lazy("trigger of a routine", "Interval"),
            TriggerKind.ONCE: pgettext_lazy("trigger of a routine", "Once"),
            TriggerKind.MANUAL: pgettext_lazy("trigger of a routine", "Manual"),
        },
        RoutineStatus: {
            RoutineStatus.ACTIVE: pgettext_lazy("state of a routine", "Active"),
            RoutineStatus.PAUSED: pgettext_lazy("state of a routine", "Paused"),
            RoutineStatus.ARCHIVED: pgettext_lazy("state of a routine", "Archived"),
            RoutineStatus.PARKED: pgettext_lazy("state of a routine", "Parked"),
        },
        Priority: {
            Priority.LOW: pgettext_lazy("priority", "Low"),
            Priority.MEDIUM: pgettext_lazy("priority", "Medium"),
            Priority.HIGH: pgettext_lazy("priority", "High"),
        },
        ConcurrencyPolicy: {
            ConcurrencyPolicy.ALLOW: pgettext_lazy("overlap policy", "Allow"),
            ConcurrencyPolicy.FORBID: pgettext_lazy("overlap policy", "Forbid"),
            ConcurrencyPolicy.REPLACE: pgettext_lazy("overlap policy", "Replace"),
            ConcurrencyPolicy.QUEUE: pgettext_lazy("overlap policy", "Queue"),
        },
        CatchUpPolicy: {
            CatchUpPolicy.SKIP: pgettext_lazy("catch-up policy", "Skip"),
            CatchUpPolicy.LAST: pgettext_lazy("catch-up policy", "Last"),
            CatchUpPolicy.ALL: pgettext_lazy("catch-up policy", "All"),
        },
        RunStatus: {
            RunStatus.PENDING: pgettext_lazy("state of a run", "Pending"),
            RunStatus.RUNNING: pgettext_lazy("state of a run", "Running"),
            RunStatus.SUCCESS: pgettext_lazy("state of a run", "Success"),
            RunStatus.FAILED: pgettext_lazy("state of a run", "Failed"),
            RunStatus.SKIPPED: pgettext_lazy("state of a run", "Skipped"),
            RunStatus.CANCELLED: pgettext_lazy("state of a run", "Cancelled"),
        },
        RunTrigger: {
            RunTrigger.SCHEDULE: pgettext_lazy("what asked for a run", "Schedule"),
            RunTrigger.MANUAL: pgettext_lazy("what asked for a run", "Manual"),
            RunTrigger.RETRY: pgettext_lazy("what asked for a run", "Retry"),
            RunTrigger.CATCH_UP: pgettext_lazy("what asked for a run", "Catch up"),
            RunTrigger.HINT: pgettext_lazy("what asked for a run", "Hint"),
            RunTrigger.BACKFILL: pgettext_lazy("what asked for a run", "Backfill"),
            RunTrigger.ROTATION: pgettext_lazy("what asked for a run", "Rotation"),
        },
        MemberStatus: {
            MemberStatus.OWED: pgettext_lazy("state of a member", "Owed"),
            MemberStatus.IN_FLIGHT: pgettext_lazy("state of a member", "In flight"),
            MemberStatus.FRESH: pgettext_lazy("state of a member", "Fresh"),
            MemberStatus.FAILED: pgettext_lazy("state of a member", "Failed"),
            MemberStatus.LEFT_OUT: pgettext_lazy("state of a member", "Left out"),
        },
        HintKind: {
            HintKind.INTERVAL: pgettext_lazy("kind of a hint", "Interval"),
            HintKind.NEXT: pgettext_lazy("kind of a hint", "Next"),
            HintKind.FACTOR: pgettext_lazy("kind of a hint", "Factor"),
        },
        Source: {
            Source.BASELINE_CRON: pgettext_lazy("why that time", "Baseline cron"),
            Source.BASELINE_INTERVAL: pgettext_lazy("why that time", "Baseline interval"),
            Source.BASELINE_ONCE: pgettext_lazy("why that time", "Baseline once"),
            Source.HINT_INTERVAL: pgettext_lazy("why that time", "Hint interval"),
            Source.HINT_ONESHOT: pgettext_lazy("why that time", "Hint oneshot"),
            Source.HINT_FACTOR: pgettext_lazy("why that time", "Hint factor"),
            Source.CLAMPED_MIN: pgettext_lazy("why that time", "Clamped min"),
            Source.CLAMPED_MAX: pgettext_lazy("why that time", "Clamped max"),
            Source.PAUSED: pgettext_lazy("why that time", "Paused"),
            Source.MANUAL: pgettext_lazy("why that time", "Manual"),
            Source.ENDED: pgettext_lazy("why that time", "Ended"),
            Source.ARCHIVED: pgettext_lazy("why that time", "Archived"),
            Source.PARKED: pgettext_lazy("why that time", "Parked"),
            Source.CATCHING_UP: pgettext_lazy("why that time", "Catching up"),
        },
        Reason: {
            Reason.EXCEPTION: pgettext_lazy("reason of a run", "Exception"),
            Reason.TIMEOUT: pgettext_lazy("reason of a run", "Timeout"),
            Reason.WORKER_LOST: pgettext_lazy("reason of a run", "Worker lost"),
            Reason.ORPHANED: pgettext_lazy("reason of a run", "Orphaned"),
            Reason.INTERRUPTED: pgettext_lazy("reason of a run", "Interrupted"),
            Reason.UNKNOWN_TASK: pgettext_lazy("reason of a run", "Unknown task"),
            Reason.BAD_ARGUMENTS: pgettext_lazy("reason of a run", "Bad arguments"),
            Reason.REJECTED: pgettext_lazy("reason of a run", "Rejected"),
            Reason.PICKED: pgettext_lazy("reason of a run", "Picked"),
            Reason.IGNORED: pgettext_lazy("reason of a run", "Ignored"),
            Reason.ABANDONED: pgettext_lazy("reason of a run", "Abandoned"),
            Reason.OVERLAP: pgettext_lazy("reason of a run", "Overlap"),
            Reason.MISFIRE: pgettext_lazy("reason of a run", "Misfire"),
            Reason.PAUSED: pgettext_lazy("reason of a run", "Paused"),
            Reason.EXPIRED: pgettext_lazy("reason of a run", "Expired"),
            Reason.PARKED: pgettext_lazy("reason of a run", "Parked"),
            Reason.SUPERSEDED: pgettext_lazy("reason of a run", "Superseded"),
            Reason.IDLE: pgettext_lazy("reason of a run", "Idle"),
            Reason.FULL: pgettext_lazy("reason of a run", "Full"),
            Reason.SHADOW: pgettext_lazy("reason of a run", "Shadow"),
            Reason.REPLACED: pgettext_lazy("reason of a run", "Replaced"),
            Reason.CANCELLED: pgettext_lazy("reason of a run", "Cancelled"),
            Reason.ARCHIVED: pgettext_lazy("reason of a run", "Archived"),
            Reason.CEILING: pgettext_lazy("reason of a run", "Ceiling"),
            Reason.NOT_YET: pgettext_lazy("reason of a run", "Not yet"),
            Reason.REPLACING: pgettext_lazy("reason of a run", "Replacing"),
            Reason.LEASE_HELD: pgettext_lazy("reason of a run", "Lease held"),
            Reason.KEY_TAKEN: pgettext_lazy("reason of a run", "Key taken"),
            Reason.ROUTINE_HELD: pgettext_lazy("reason of a run", "Routine held"),
            Reason.REDIS_AWAY: pgettext_lazy("reason of a run", "Redis away"),
            Reason.PUBLISH_FAILED: pgettext_lazy("reason of a run", "Publish failed"),
            Reason.OVERDUE: pgettext_lazy("reason of a run", "Overdue"),
        },
        Role: {
            Role.BEAT: pgettext_lazy("kind of a process", "Beat"),
            Role.WORKER: pgettext_lazy("kind of a process", "Worker"),
        },
        ChangeKind: {
            ChangeKind.CREATED: pgettext_lazy("change of a routine", "Created"),
            ChangeKind.UPDATED: pgettext_lazy("change of a routine", "Updated"),
            ChangeKind.PAUSED: pgettext_lazy("change of a routine", "Paused"),
            ChangeKind.RESUMED: pgettext_lazy("change of a routine", "Resumed"),
            ChangeKind.ARCHIVED: pgettext_lazy("change of a routine", "Archived"),
            ChangeKind.PARKED: pgettext_lazy("change of a routine", "Parked"),
            ChangeKind.RESET: pgettext_lazy("change of a routine", "Reset"),
            ChangeKind.HINTED: pgettext_lazy("change of a routine", "Hinted"),
            ChangeKind.HINTS_CLEARED: pgettext_lazy("change of a routine", "Hints cleared"),
            ChangeKind.HINT_EXPIRED: pgettext_lazy("change of a routine", "Hint expired"),
            ChangeKind.REPLANNED: pgettext_lazy("change of a routine", "Replanned"),
            ChangeKind.LEASE_RELEASED: pgettext_lazy("change of a routine", "Lease released"),
            ChangeKind.DELETED: pgettext_lazy("change of a routine", "Deleted"),
        },
    }
)
