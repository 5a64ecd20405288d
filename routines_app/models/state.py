"""Routine states: what the machinery remembers about each routine."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from routines_app.core.words import ASLEEP, CatchUpPolicy, Source
from routines_app.models.choices import choices_of, is_word, word_field
from routines_app.models.routine import Routine

_ASLEEP = sorted(source.value for source in ASLEEP)


class RoutineState(models.Model):
    """One narrow row per routine, written by beats and workers and never by a form.

    `next_run_at` is when a beat must look at the routine again; NULL means that no beat needs to.
    """

    routine = models.OneToOneField(Routine, primary_key=True, on_delete=models.CASCADE, related_name="state")
    last_slot = models.DateTimeField(null=True, help_text="The anchor: the last slot of the schedule accounted for.")
    next_slot = models.DateTimeField(null=True, help_text="The next slot to fire.")
    next_run_at = models.DateTimeField(null=True)
    next_source = word_field(Source, Source.MANUAL)

    hint_interval_ms = models.BigIntegerField(null=True)
    hint_next_at = models.DateTimeField(null=True)
    hint_expires_at = models.DateTimeField(null=True)
    hint_reason = models.TextField(default="", db_default="")

    last_run_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failure_count = models.PositiveIntegerField(default=0, db_default=0, help_text="Chains FAILED in a row.")
    fence = models.BigIntegerField(default=0, db_default=0)
    fingerprint = models.CharField(max_length=16, default="", db_default="")
    release_policy = models.CharField(
        max_length=24,
        choices=choices_of(CatchUpPolicy),
        blank=True,
        default="",
        db_default="",
        help_text="How slots up to release_until are caught up; empty: as the routine says.",
    )
    release_until = models.DateTimeField(null=True, help_text="The end of the pause that is being released.")

    class Meta:
        indexes = [
            models.Index(fields=["next_run_at", "routine"], name="state_due"),
            models.Index(
                fields=["next_source"],
                name="state_catching_up",
                condition=Q(next_source=Source.CATCHING_UP.value),
            ),
        ]
        constraints = [
            is_word("next_source", Source, "state_source_is_known"),
            models.CheckConstraint(
                condition=Q(next_source__in=_ASLEEP, next_run_at__isnull=True)
                | Q(next_source=Source.PAUSED.value)
                | (~Q(next_source__in=_ASLEEP) & Q(next_run_at__isnull=False)),
                name="state_asleep_means_no_next_run",
            ),
            models.CheckConstraint(
                condition=Q(release_policy="", release_until__isnull=True)
                | (~Q(release_policy="") & Q(release_until__isnull=False)),
                name="state_release_has_policy_and_end",
            ),
        ]

    def __str__(self) -> str:
        return f"state of {self.routine_id}"
