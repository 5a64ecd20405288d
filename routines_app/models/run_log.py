"""Log lines that a task wrote about its own run."""

from __future__ import annotations

from django.db import models

from routines_app.models.run import RoutineRun


class RunLog(models.Model):
    """One line; the newest ones are kept with the run."""

    run = models.ForeignKey(RoutineRun, on_delete=models.CASCADE, related_name="log_lines", db_index=False)
    at = models.DateTimeField()
    line = models.TextField()

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["run", "id"], name="log_by_run")]

    def __str__(self) -> str:
        return self.line
