"""Pools: hard ceilings on how many runs are in flight together."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models


class Pool(models.Model):
    """A named ceiling, shared by the routines that name it."""

    name = models.CharField(max_length=100, unique=True)
    max_concurrent = models.PositiveIntegerField(
        validators=[MinValueValidator(1)], help_text="At most this many runs of the pool are in flight together."
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=models.Q(max_concurrent__gte=1), name="pool_has_room_for_one"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.max_concurrent})"
