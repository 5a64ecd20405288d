"""Routines: what people edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q
from django.utils.timezone import now as current_time
from django.utils.translation import gettext_lazy

from routines_app.core.said import said
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy, Priority, RoutineStatus, TriggerKind, is_exclusive
from routines_app.models.choices import is_word, word_field
from routines_app.models.json_field import JSONField
from routines_app.models.ledger_time import EditedAt
from routines_app.models.pool import Pool

if TYPE_CHECKING:
    from routines_app.models.moved_entry import MovedEntry
    from routines_app.models.rotation import Rotation
    from routines_app.models.rotation_member import RotationMember
    from routines_app.models.state import RoutineState

DECLARED_IN_DATABASE = "database"
DEFAULT_SCOPE = "code"
DECLARED_IN_CODE = "code:"
"""Before DECLARED_SCOPE, in `declared_in` of what a project's code declares; a Celery app's schedule has its name."""


class Routine(models.Model):
    """A named piece of recurring work: a Celery task, its arguments, a trigger and policies.

    Write it through `routines_app.service`; what the machinery remembers about it is in `RoutineState`.
    """

    name = models.CharField(max_length=200, unique=True)
    description = models.TextField(blank=True, default="", db_default="")
    tags = JSONField(default=list, blank=True)
    group = models.CharField(max_length=100, blank=True, default="", db_default="")

    task = models.CharField(max_length=255, help_text=gettext_lazy("The registered name of a Celery task."))
    args = JSONField(default=list, blank=True)
    kwargs = JSONField(default=dict, blank=True)
    queue = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy("Empty: what task_routes says for the task."),
    )

    options = JSONField(
        null=True, blank=True, help_text=gettext_lazy("More for the message: priority, headers, exchange, routing_key.")
    )

    trigger_kind = word_field(TriggerKind, TriggerKind.MANUAL)
    cron = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy("5 fields, 6 with seconds first, or @hourly."),
    )
    interval_ms = models.BigIntegerField(null=True, blank=True)
    once_at = models.DateTimeField(null=True, blank=True)
    timezone = models.CharField(max_length=64, default="UTC", db_default="UTC")
    start_at = models.DateTimeField(null=True, blank=True)
    end_at = models.DateTimeField(null=True, blank=True)
    jitter_ms = models.BigIntegerField(default=0, db_default=0)

    status = word_field(RoutineStatus, RoutineStatus.ACTIVE)
    paused_until = models.DateTimeField(null=True, blank=True)
    pause_reason = models.TextField(blank=True, default="", db_default="", help_text="Why it is paused or parked.")
    pause_batch = models.ForeignKey(
        "PauseBatch",
        null=True,
        blank=True,
        editable=False,
        db_index=False,  # `routine_by_batch` is one, in the order of the ids
        on_delete=models.PROTECT,
        related_name="routines",
        help_text="The batch that paused it; empty: its pause is its own.",
    )

    priority = word_field(Priority, Priority.MEDIUM)
    emphasis = models.FloatField(default=1.0, db_default=1.0)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="children")
    depth = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    concurrency_policy = word_field(ConcurrencyPolicy, ConcurrencyPolicy.ALLOW)
    pool = models.ForeignKey(Pool, null=True, blank=True, on_delete=models.PROTECT, related_name="routines")

    catch_up_policy = word_field(CatchUpPolicy, CatchUpPolicy.SKIP)
    misfire_grace_ms = models.BigIntegerField(default=60_000, db_default=60_000)
    catch_up_window_ms = models.BigIntegerField(
        null=True, blank=True, help_text=gettext_lazy("Slots that were missed longer ago are not caught up.")
    )
    catch_up_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text=gettext_lazy("At most this many missed slots are caught up, the newest ones.")
    )

    timeout_ms = models.BigIntegerField(
        null=True,
        blank=True,
        help_text=gettext_lazy("Unset: the task's own limits, and 5 minutes for one that has none. 0: none."),
    )
    expires_ms = models.BigIntegerField(
        null=True, blank=True, help_text=gettext_lazy("A run that has not started this long after its slot is skipped.")
    )

    max_attempts = models.PositiveIntegerField(default=3, db_default=3)
    retry_delay_ms = models.BigIntegerField(default=10_000, db_default=10_000)
    retry_max_delay_ms = models.BigIntegerField(default=600_000, db_default=600_000)
    retry_jitter = models.FloatField(default=0.2, db_default=0.2)
    retry_for = JSONField(
        default=list, blank=True, help_text=gettext_lazy("Exception names; empty means every exception.")
    )
    no_retry_for = JSONField(default=list, blank=True)
    park_after = models.PositiveIntegerField(
        null=True, blank=True, help_text=gettext_lazy("Park the routine after this many failed chains in a row.")
    )
    min_interval_ms = models.BigIntegerField(null=True, blank=True)
    max_interval_ms = models.BigIntegerField(null=True, blank=True)
    keep_result = models.BooleanField(default=True, db_default=True)

    rotation = models.ForeignKey(
        "Rotation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="routines",
        help_text=gettext_lazy("Which rotation keeps it fresh; only for routines that fire by hand."),
    )
    # May be NULL, as an older release writes it that still runs beside this one.
    phases = JSONField(
        null=True,
        default=list,
        blank=True,
        help_text=gettext_lazy("Of a rotation's member: what a cycle runs. Empty: as the rotation says."),
    )

    declared_in = models.CharField(max_length=200, default=DECLARED_IN_DATABASE, db_default=DECLARED_IN_DATABASE)
    declared_seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    declared = JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text="Each field that code has said when it was last synced, as it would be stored. Unset: not known.",
    )
    shadow = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="An old scheduler still fires it: its slots are recorded and not run.",
    )
    version = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    created_at = models.DateTimeField(default=current_time, editable=False)
    updated_at = EditedAt()

    state: RoutineState
    rotates: Rotation
    """What it is the clock of, if it is a rotation's own routine."""
    membership: RotationMember
    moved_entry: MovedEntry

    class Meta:
        ordering = ["name"]
        indexes = [
            models.Index(fields=["status", "name"], name="routine_by_status"),
            models.Index(fields=["task"], name="routine_by_task"),
            models.Index(fields=["declared_in", "declared_seen_at"], name="routine_by_declaration"),
            models.Index(fields=["pause_batch", "id"], name="routine_by_batch"),
            # What the admin's list is filtered by, with its order behind it: a rare value is found without a look at
            # the others, and a common one needs no sorting.
            models.Index(fields=["concurrency_policy", "name"], name="routine_by_overlap"),
            models.Index(fields=["priority", "name"], name="routine_by_priority"),
            models.Index(fields=["trigger_kind", "name"], name="routine_by_trigger"),
            models.Index(fields=["group", "name"], name="routine_by_group"),
            models.Index(
                fields=["paused_until", "name"], name="routine_by_pause", condition=Q(status=RoutineStatus.PAUSED.value)
            ),
        ]
        constraints = [
            is_word("status", RoutineStatus, "routine_status_is_known"),
            is_word("trigger_kind", TriggerKind, "routine_trigger_is_known"),
            is_word("priority", Priority, "routine_priority_is_known"),
            is_word("concurrency_policy", ConcurrencyPolicy, "routine_concurrency_is_known"),
            is_word("catch_up_policy", CatchUpPolicy, "routine_catch_up_is_known"),
            models.CheckConstraint(
                condition=Q(trigger_kind=TriggerKind.CRON.value, interval_ms=None, once_at=None) & ~Q(cron="")
                | Q(trigger_kind=TriggerKind.INTERVAL.value, interval_ms__isnull=False, once_at=None, cron="")
                | Q(trigger_kind=TriggerKind.ONCE.value, interval_ms=None, once_at__isnull=False, cron="")
                | Q(trigger_kind=TriggerKind.MANUAL.value, interval_ms=None, once_at=None, cron=""),
                name="routine_has_what_its_trigger_needs",
            ),
            models.CheckConstraint(
                condition=Q(rotation__isnull=True) | Q(trigger_kind=TriggerKind.MANUAL.value),
                name="routine_of_a_rotation_is_manual",
            ),
            models.CheckConstraint(
                condition=Q(interval_ms__isnull=True) | Q(interval_ms__gte=1000), name="routine_interval_is_a_second_up"
            ),
            models.CheckConstraint(
                condition=Q(start_at__isnull=True) | Q(end_at__isnull=True) | Q(end_at__gte=F("start_at")),
                name="routine_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(timeout_ms__isnull=True)
                | Q(timeout_ms=0)
                | Q(timeout_ms__gte=1000, timeout_ms__lte=86_400_000),
                name="routine_timeout_none_or_1s_to_24h",
            ),
            models.CheckConstraint(condition=Q(max_attempts__gte=1), name="routine_has_an_attempt"),
            models.CheckConstraint(
                condition=Q(retry_delay_ms__gte=0, retry_max_delay_ms__gte=F("retry_delay_ms")),
                name="routine_retry_delays_in_order",
            ),
            models.CheckConstraint(
                condition=Q(min_interval_ms__isnull=True)
                | Q(max_interval_ms__isnull=True)
                | Q(max_interval_ms__gte=F("min_interval_ms")),
                name="routine_min_below_max_interval",
            ),
            models.CheckConstraint(
                condition=Q(paused_until__isnull=True) | Q(status=RoutineStatus.PAUSED.value),
                name="routine_paused_until_only_when_paused",
            ),
            models.CheckConstraint(
                condition=Q(pause_batch__isnull=True) | Q(status=RoutineStatus.PAUSED.value),
                name="routine_in_a_batch_only_when_paused",
            ),
        ]
        permissions = [
            ("run_routine", "Can run a routine now"),
            ("pause_routine", "Can pause and resume a routine"),
            ("reset_routine", "Can reset a parked routine and release its lease"),
            ("hint_routine", "Can give and clear hints"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_exclusive(self) -> bool:
        return is_exclusive(self.concurrency_policy)

    @property
    def is_declared_in_code(self) -> bool:
        return self.declared_in != DECLARED_IN_DATABASE

    @property
    def fired_by(self) -> str:
        """Who fires it while it is in shadow."""
        entry = getattr(self, "moved_entry", None)
        return said("its old scheduler") if entry is None else entry.scheduler

    @property
    def declared_by(self) -> str:
        """Where it is declared, in words."""
        if self.declared_in == f"{DECLARED_IN_CODE}{DEFAULT_SCOPE}":
            return said("the project's code")
        return said("the code of {scope}", scope=self.declared_in.removeprefix(DECLARED_IN_CODE))
