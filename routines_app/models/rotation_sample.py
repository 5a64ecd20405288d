"""How a rotation stood, every few minutes: what its chart is drawn from."""

from __future__ import annotations

from django.db import models

from routines_app.models.rotation import Rotation


class RotationSample(models.Model):
    """Counts and staleness at one moment."""

    rotation = models.ForeignKey(Rotation, on_delete=models.CASCADE, related_name="samples", db_index=False)
    at = models.DateTimeField()
    owed = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    fresh = models.PositiveIntegerField()
    failing = models.PositiveIntegerField()
    left_out = models.PositiveIntegerField()
    stalest_seconds = models.FloatField(null=True, help_text="NULL: it had no members.")
    median_seconds = models.FloatField(null=True)

    class Meta:
        ordering = ["rotation", "at"]
        constraints = [models.UniqueConstraint(fields=["rotation", "at"], name="one_sample_at_a_time")]

    def __str__(self) -> str:
        return f"{self.rotation_id} at {self.at:%Y-%m-%d %H:%M}"
