"""Nodes' lifetimes: from when to when a beat or a worker was heard of. They stay when the node itself is gone."""

from __future__ import annotations

from django.db import models

from routines_app.core.words import Role
from routines_app.models.choices import is_word, word_field
from routines_app.models.json_field import JSONField


class NodeLifetime(models.Model):
    """A time during which a process reported itself without a gap. One that was silent for a while has several."""

    name = models.CharField(max_length=255, help_text="role@host:pid")
    role = word_field(Role)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    queues = JSONField(default=list, help_text="The queues that a worker consumed, as it last said.")
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, help_text="When it ended in order; NULL: it lives, or fell silent.")

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["role", "seen_at"], name="lifetime_by_role")]
        constraints = [is_word("role", Role, "lifetime_role_is_known")]

    def __str__(self) -> str:
        return self.name
