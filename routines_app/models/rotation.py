"""Rotations: how many things are kept fresh with a fixed budget."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from routines_app.models.json_field import JSONField
from routines_app.models.routine import Routine


class Rotation(models.Model):
    """What a rotation has besides its own routine, whose slots are its ticks.

    Name, trigger, status and history are that routine's, and its id is this row's. The last three columns belong to the
    machinery: a tick writes them under the lock of the routine's state.
    """

    routine = models.OneToOneField(Routine, primary_key=True, on_delete=models.CASCADE, related_name="rotates")
    budget = models.PositiveIntegerField(default=1, db_default=1, help_text="How many members a tick picks at most.")
    max_in_flight = models.PositiveIntegerField(
        default=1, db_default=1, help_text="No tick picks while this many members are in flight."
    )
    fresh_for_ms = models.BigIntegerField(
        default=86_400_000, db_default=86_400_000, help_text="How long after its cycle a member is fresh."
    )
    depth_weight = models.FloatField(
        default=0.5, db_default=0.5, help_text="How much longer deeper members count as having waited: 0 no longer."
    )
    member_task = models.CharField(
        max_length=255, blank=True, default="", db_default="", help_text="The task of members that seeding makes."
    )
    phases = JSONField(default=list, blank=True, help_text="What a cycle runs, of members that say nothing else.")
    seed = models.CharField(
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text="The dotted path of a callable that yields what should be members.",
    )
    archive_vanished = models.BooleanField(
        default=False, db_default=False, help_text="Members that the callable yields no longer are archived."
    )

    idle_multiplier = models.PositiveSmallIntegerField(default=1, db_default=1, editable=False)
    skip_ticks = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    ticks = models.BigIntegerField(
        default=0, db_default=0, editable=False, help_text="How many there were: what failed members wait by."
    )

    class Meta:
        ordering = ["routine__name"]
        constraints = [
            models.CheckConstraint(condition=Q(budget__gte=1, max_in_flight__gte=1), name="rotation_has_a_budget"),
            models.CheckConstraint(condition=Q(fresh_for_ms__gte=0), name="rotation_is_fresh_forwards"),
            models.CheckConstraint(
                condition=Q(idle_multiplier__gte=1, idle_multiplier__lte=4), name="rotation_idles_at_most_fourfold"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.routine.name
