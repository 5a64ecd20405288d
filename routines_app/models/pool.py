"""Pools: hard ceilings on how many runs are in flight together."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy


class Pool(models.Model):
    """A named ceiling, shared by the routines that name it."""

    name = models.CharField(max_length=100, unique=True)
    max_concurrent = models.PositiveIntegerField(
        help_text=gettext_lazy("At most this many runs of the pool are in flight together; 0: none starts.")
    )
    drained_from = models.PositiveIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text="Its ceiling before it was drained; empty: it is not drained.",
    )

    # True or NULL: a plain unique index then says on every database that there is one default pool at most.
    is_default = models.BooleanField(
        null=True, blank=True, unique=True, help_text=gettext_lazy("Routines that name no pool belong to this one.")
    )

    # How many of its runs were let through and have not ended, and how many were not: given by `service.list_pools`.
    in_flight: int
    waiting: int

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(drained_from__isnull=True) | models.Q(drained_from__gte=1, max_concurrent=0),
                name="pool_drained_has_no_room",
            ),
            models.CheckConstraint(
                condition=models.Q(is_default__isnull=True) | models.Q(is_default=True),
                name="pool_is_default_or_says_nothing",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.max_concurrent})"

    @property
    def ceiling(self) -> int:
        """What it has when it is not drained."""
        return self.max_concurrent if self.drained_from is None else self.drained_from
