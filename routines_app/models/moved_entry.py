"""Entries of an old scheduler that routines were made from, and what that scheduler was seen to fire."""

from __future__ import annotations

from django.db import models

from routines_app.models import ledger_time
from routines_app.models.routine import Routine


class MovedEntry(models.Model):
    """Which entry of which old scheduler a routine was made from.

    While the routine is in shadow, that entry fires. Since `switched_at` it is disabled and the routine fires.
    """

    routine = models.OneToOneField(Routine, on_delete=models.CASCADE, related_name="moved_entry")
    scheduler = models.CharField(max_length=32, help_text="django-celery-beat, celery-redbeat or beat_schedule.")
    key = models.CharField(max_length=255, help_text="The entry's name there.")
    disabled_at = models.DateTimeField(null=True, help_text="When a switch-over disabled the old entry.")
    switched_at = models.DateTimeField(null=True, help_text="Since when the routine fires; NULL: the old entry does.")
    last_fired_at = models.DateTimeField(
        null=True, help_text="Its last fire, as it said itself before it was disabled."
    )
    created_at = models.DateTimeField(default=ledger_time.now, editable=False)

    class Meta:
        ordering = ["scheduler", "key"]
        constraints = [models.UniqueConstraint(fields=["scheduler", "key"], name="one_routine_per_old_entry")]

    def __str__(self) -> str:
        return f"{self.key} of {self.scheduler}"


class OldFire(models.Model):
    """One message that an old scheduler has sent for an entry that was moved.

    `fired_at` is by the clock of the old beat's machine, as its `last_run_at` is: it fires no slot before that clock
    has come to it.
    """

    scheduler = models.CharField(max_length=32)
    key = models.CharField(max_length=255)
    task_id = models.CharField(max_length=64)
    fired_at = models.DateTimeField()

    class Meta:
        ordering = ["fired_at"]
        indexes = [
            models.Index(fields=["scheduler", "key", "fired_at"], name="old_fire_by_entry"),
            models.Index(fields=["fired_at"], name="old_fire_by_time"),
        ]
        constraints = [models.UniqueConstraint(fields=["task_id"], name="one_old_fire_per_message")]

    def __str__(self) -> str:
        return f"{self.key} at {self.fired_at:%Y-%m-%d %H:%M:%S}"
