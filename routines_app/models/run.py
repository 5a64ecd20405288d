"""Runs: the ledger. One row per attempt at a slot, and what became of it."""

from __future__ import annotations

import os
import uuid
from random import Random
from typing import Any

from django.db import models
from django.db.models import Q

from routines_app.core.keys import RANDOM_BITS, epoch_ms, uuid7_int
from routines_app.core.transitions import ACTIVE, TERMINAL
from routines_app.core.waits import Wait, read_waits
from routines_app.core.words import RARE_TRIGGERS, Reason, RunStatus, RunTrigger, Source
from routines_app.models import ledger_time
from routines_app.models.choices import choices_of, display_of, is_word, word_field
from routines_app.models.json_field import JSONField
from routines_app.models.pool import Pool
from routines_app.models.result_field import ResultField
from routines_app.models.routine import Routine

_ACTIVE = [status.value for status in RunStatus if status in ACTIVE]
_ENDED = [status.value for status in RunStatus if status in TERMINAL]
_RARE = [trigger.value for trigger in RunTrigger if trigger in RARE_TRIGGERS]


# Ids are no secrets, and asking the system for each would be felt in a burst.
_random = Random()  # noqa: S311 # nosec B311
_seeded_in = os.getpid()


def new_run_id() -> uuid.UUID:
    """A UUIDv7: rows sort by the ledger's time of their creation, which keeps the indexes dense."""
    global _seeded_in
    if _seeded_in != os.getpid():  # forked, perhaps by a server that calls no hooks: not the parent's ids once more
        _random.seed()
        _seeded_in = os.getpid()
    return uuid.UUID(int=uuid7_int(epoch_ms(ledger_time.now()), _random.getrandbits(RANDOM_BITS)))


class RoutineRun(models.Model):
    """One attempt at one slot, or at one manual request. Its id is also the Celery task id."""

    id = models.UUIDField(primary_key=True, default=new_run_id, editable=False)
    routine = models.ForeignKey(Routine, on_delete=models.PROTECT, related_name="runs", db_index=False)
    status = word_field(RunStatus, RunStatus.PENDING)
    reason = models.CharField(max_length=24, choices=choices_of(Reason), blank=True, default="", db_default="")
    trigger = word_field(RunTrigger, RunTrigger.SCHEDULE)
    source = models.CharField(max_length=24, choices=choices_of(Source), blank=True, default="", db_default="")

    task = models.CharField(max_length=255)
    queue = models.CharField(max_length=200, blank=True, default="", db_default="")
    timeout_ms = models.BigIntegerField(null=True, help_text="The routine's, as it was.")
    args = JSONField(null=True, help_text="NULL: the routine's own.")
    kwargs = JSONField(null=True, help_text="NULL: the routine's own.")
    pool = models.ForeignKey(Pool, null=True, on_delete=models.PROTECT, related_name="runs", db_index=False)

    scheduled_for = models.DateTimeField()
    next_planned_for = models.DateTimeField(null=True)
    eligible_at = models.DateTimeField()
    admitted_at = models.DateTimeField(null=True, help_text="When it was let through to the broker; NULL while held.")
    publish_after = models.DateTimeField(null=True, help_text="When any beat may (again) look at it as unpublished.")
    publish_count = models.PositiveIntegerField(default=0, db_default=0)
    dispatched_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    body_ended_at = models.DateTimeField(null=True, help_text="When its body ended, if that outlived the run.")

    attempt = models.PositiveIntegerField(default=1, db_default=1)
    budget_used = models.PositiveIntegerField(
        default=1, db_default=1, help_text="Attempts that count, this one included."
    )
    own_retries = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Retries before this attempt that the task asked for itself."
    )
    # In a chain the attempt before; of a chain's first run the one that somebody has asked to do again.
    retry_of = models.ForeignKey(
        "self", null=True, on_delete=models.DO_NOTHING, related_name="retries", db_index=False, db_constraint=False
    )
    chain = models.UUIDField(null=True, help_text="The chain's first run; NULL on that run itself.")
    idempotency_key = models.CharField(max_length=255)
    running_key = models.BigIntegerField(null=True)
    fence = models.BigIntegerField(null=True)
    worker = models.CharField(max_length=255, blank=True, default="", db_default="")
    start_token = models.UUIDField(null=True, help_text="Of the delivery that started it: only that one owns the body.")
    orphan_seconds = models.PositiveIntegerField(
        null=True, help_text="How long its heart may be silent; NULL: as the setting says."
    )
    tell_after = models.DateTimeField(
        null=True, help_text="When a beat tells of its end; NULL: it was told, or nobody listens."
    )
    requested_by = models.CharField(max_length=255, blank=True, default="", db_default="")
    requested_at = models.DateTimeField(
        null=True, help_text="When somebody asked for it by hand: its place in the queue, which its retries keep."
    )
    rotation = models.ForeignKey(
        "Rotation", null=True, on_delete=models.DO_NOTHING, related_name="runs", db_index=False, db_constraint=False
    )
    phase = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Of a rotation's run: which phase of the cycle."
    )
    tick = models.UUIDField(null=True, help_text="The run of the rotation's own routine that fired it.")
    blocked_by = models.UUIDField(
        null=True, help_text="The run that was in its way, or that took its place; of the same routine."
    )
    waits = models.TextField(null=True, help_text="What it has waited for, as core/waits.py writes it; NULL: nothing.")
    stop_requested_at = models.DateTimeField(null=True)
    stop_reason = models.CharField(max_length=24, blank=True, default="", db_default="")

    progress = JSONField(null=True)
    result = ResultField(null=True, help_text="JSON, cut visibly when it is over the limit.")
    error = models.TextField(blank=True, default="", db_default="")
    traceback = models.TextField(blank=True, default="", db_default="")
    scheduled_until = models.DateTimeField(null=True, help_text="Last slot, when the row stands for many.")
    occurrences = models.PositiveIntegerField(default=1, db_default=1)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["routine", "id"], name="run_by_routine"),
            models.Index(fields=["status", "id"], name="run_by_status"),
            models.Index(
                fields=["publish_after"],
                name="run_waiting",
                condition=Q(status=RunStatus.PENDING.value, dispatched_at__isnull=True),
            ),
            models.Index(
                fields=["queue", "publish_after"],
                name="run_dispatched",
                condition=Q(status=RunStatus.PENDING.value, dispatched_at__isnull=False),
            ),
            models.Index(fields=["routine"], name="run_active", condition=Q(status__in=_ACTIVE)),
            models.Index(
                fields=["pool", "admitted_at"],
                name="run_pooled",
                condition=Q(pool__isnull=False, status__in=_ACTIVE),
            ),
            models.Index(fields=["tell_after"], name="run_untold", condition=Q(tell_after__isnull=False)),
            models.Index(fields=["rotation", "id"], name="run_by_rotation", condition=Q(rotation__isnull=False)),
            models.Index(fields=["tick"], name="run_by_tick", condition=Q(tick__isnull=False)),
            models.Index(fields=["chain"], name="run_by_chain", condition=Q(chain__isnull=False)),
            models.Index(
                fields=["retry_of"],
                name="run_done_again",
                condition=Q(retry_of__isnull=False, chain__isnull=True),
            ),
            models.Index(fields=["trigger", "id"], name="run_by_rare_trigger", condition=Q(trigger__in=_RARE)),
            models.Index(fields=["blocked_by"], name="run_by_blocker", condition=Q(blocked_by__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["idempotency_key"], name="one_run_per_slot_and_attempt"),
            models.UniqueConstraint(fields=["running_key"], name="one_exclusive_run_at_a_time"),
            is_word("status", RunStatus, "run_status_is_known"),
            is_word("trigger", RunTrigger, "run_trigger_is_known"),
            models.CheckConstraint(
                condition=Q(running_key__isnull=True) | Q(status=RunStatus.RUNNING.value),
                name="run_key_only_while_running",
            ),
            models.CheckConstraint(
                condition=Q(status__in=_ENDED, completed_at__isnull=False)
                | Q(status__in=_ACTIVE, completed_at__isnull=True),
                name="run_completed_means_ended",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[RunStatus.PENDING.value, RunStatus.SKIPPED.value, RunStatus.CANCELLED.value])
                | Q(status=RunStatus.FAILED.value)
                | Q(started_at__isnull=False),
                name="run_running_or_success_has_started",
            ),
            models.CheckConstraint(condition=Q(attempt__gte=1, occurrences__gte=1), name="run_counts_from_one"),
        ]
        permissions = [
            ("cancel_routinerun", "Can cancel a run"),
            ("abandon_routinerun", "Can end a run whose body is gone or cannot be stopped"),
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.status})"

    @classmethod
    def of(cls, routine: Routine, **fields: Any) -> RoutineRun:
        """A run of the routine, with what it is to do as it stands now: a later edit does not change that."""
        return cls(routine=routine, task=routine.task, queue=routine.queue, timeout_ms=routine.timeout_ms, **fields)

    @property
    def is_active(self) -> bool:
        return self.status in _ACTIVE

    @property
    def waited(self) -> list[Wait]:
        """What it has waited for so far, in order."""
        return read_waits(self.waits)

    def get_status_display(self) -> str:  # type: ignore[no-redef]
        return display_of(RunStatus, self.status)

    def get_reason_display(self) -> str:  # type: ignore[no-redef]
        return display_of(Reason, self.reason)

    def get_trigger_display(self) -> str:  # type: ignore[no-redef]
        return display_of(RunTrigger, self.trigger)

    @property
    def chain_id(self) -> uuid.UUID:
        """The id of the chain's first run."""
        return self.chain or self.id
