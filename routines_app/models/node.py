"""Nodes: the beats and workers that are there, as they report themselves."""

from __future__ import annotations

from django.db import models

from routines_app.core.words import Role
from routines_app.models.choices import is_word, word_field
from routines_app.models.json_field import JSONField

PROBLEMS = "problems"
CLOCK_AHEAD = "clock_ahead_seconds"


class Node(models.Model):
    """A beat's or worker's last heartbeat and a snapshot of its machine."""

    name = models.CharField(max_length=255, unique=True, help_text="role@host:pid")
    role = word_field(Role)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    versions = JSONField(default=dict)
    queues = JSONField(default=list, help_text="The queues that a worker consumes.")
    tasks = JSONField(default=list, help_text="The tasks that a worker has registered.")
    declares = models.CharField(max_length=200, blank=True, default="", help_text="Whose beat_schedule a beat imports.")
    load = models.FloatField(null=True)
    memory_bytes = models.BigIntegerField(null=True)
    running_runs = models.PositiveIntegerField(default=0)
    draining = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["role", "name"]
        indexes = [models.Index(fields=["role", "seen_at"], name="node_by_role")]
        constraints = [is_word("role", Role, "node_role_is_known")]

    def __str__(self) -> str:
        return self.name

    @property
    def problems(self) -> list[str]:
        """What the process cannot reach, or has found wrong around it; it says so beside its versions."""
        found: list[str] = self.versions.get(PROBLEMS, [])
        return found

    @property
    def clock_ahead_seconds(self) -> float | None:
        """How far its machine's clock is ahead of the database's; None: it does not say, as older releases do not."""
        found = self.versions.get(CLOCK_AHEAD)
        return float(found) if isinstance(found, int | float) else None
