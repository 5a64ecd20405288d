"""Schedule changes: who changed what about a routine, when and why. Append-only; the audit reads it."""

from __future__ import annotations

from django.db import models

from routines_app.core.words import ChangeKind
from routines_app.models.choices import display_of, is_word, word_field
from routines_app.models.json_field import JSONField
from routines_app.models.routine import Routine


class ScheduleChange(models.Model):
    """One change. `before` and `after` hold the fields that changed; `next_slot` is what was planned then."""

    routine = models.ForeignKey(Routine, null=True, on_delete=models.SET_NULL, related_name="changes", db_index=False)
    routine_name = models.CharField(max_length=200)
    kind = word_field(ChangeKind)
    at = models.DateTimeField()
    actor = models.CharField(max_length=255, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    before = JSONField(default=dict)
    after = JSONField(default=dict)
    next_slot = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["routine", "id"], name="change_by_routine")]
        constraints = [is_word("kind", ChangeKind, "change_kind_is_known")]

    def __str__(self) -> str:
        return f"{self.routine_name}: {self.kind}"

    def get_kind_display(self) -> str:
        return display_of(ChangeKind, self.kind)
