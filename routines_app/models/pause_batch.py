"""Pause batches: many routines that were paused as one, and are resumed as one."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from routines_app.core.words import CatchUpPolicy
from routines_app.models.choices import choices_of
from routines_app.models.json_field import JSONField
from routines_app.models.ledger_time import now as current_time


class PauseBatch(models.Model):
    """A name for the pauses of many routines. Those that are paused by it say so (`Routine.pause_batch`).

    It is filled in pieces, in the order of the routines' ids, and so it is resumed: each piece is one transaction that
    also moves `looked_at_id` and the counts. So whoever is cut off leaves a batch that can be gone on with.
    """

    name = models.CharField(max_length=100)
    # True or NULL: a plain unique index then says on every database that open batches have different names.
    is_open = models.BooleanField(null=True, default=True, db_default=True)
    reason = models.TextField(blank=True, default="", db_default="")
    until = models.DateTimeField(null=True, help_text="When its pauses end by themselves; empty: they do not.")
    selected_by = JSONField(
        default=dict, help_text="What chose the routines: a tag, a group, a queue, a pool, a filter."
    )

    created_at = models.DateTimeField(default=current_time, editable=False)
    created_by = models.CharField(max_length=255, default="", db_default="")
    up_to_id = models.BigIntegerField(
        help_text="The last routine that there was when it was made: later ones stay out."
    )
    looked_at_id = models.BigIntegerField(default=0, db_default=0, help_text="The routines up to here were looked at.")
    filled_at = models.DateTimeField(null=True, help_text="When all were looked at; empty: it is still being filled.")
    taken = models.PositiveIntegerField(default=0, db_default=0, help_text="How many routines it has paused.")
    left_alone = models.PositiveIntegerField(default=0, db_default=0, help_text="How many were paused already.")

    release = models.CharField(
        max_length=24,
        choices=choices_of(CatchUpPolicy),
        blank=True,
        default="",
        db_default="",
        help_text="How the slots of its pauses are released; empty: it is not being resumed.",
    )
    resumed_by = models.CharField(max_length=255, default="", db_default="")
    resumed = models.PositiveIntegerField(default=0, db_default=0, help_text="How many routines it has resumed.")
    refused = models.PositiveIntegerField(default=0, db_default=0, help_text="How many stay paused by themselves.")
    closed_at = models.DateTimeField(null=True)

    # How many routines are paused by it now: given by `service.list_pause_batches`.
    paused: int

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "pause batches"
        constraints = [
            models.UniqueConstraint(fields=["name", "is_open"], name="one_open_batch_of_a_name"),
            models.CheckConstraint(
                condition=Q(is_open=True, closed_at__isnull=True) | Q(is_open__isnull=True, closed_at__isnull=False),
                name="batch_is_open_or_was_closed",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_filling(self) -> bool:
        """Whether routines are still to be looked at."""
        return bool(self.is_open) and self.filled_at is None

    @property
    def standing(self) -> str:
        """How far it is, in a word."""
        if not self.is_open:
            return "over"
        if self.is_resuming:
            return "resuming"
        return "filling" if self.is_filling else "paused"

    @property
    def is_resuming(self) -> bool:
        """Whether somebody has begun to resume it, and it has not come to its end."""
        return bool(self.is_open) and self.release != ""
