"""Saved filters: an address of a list under a name, for one person or for everybody."""

from __future__ import annotations

from django.db import models

from routines_app.models import ledger_time

EVERYBODY = ""
"""The owner of what was saved for everybody."""


class SavedFilter(models.Model):
    """What a list of the admin was asked for. Its owner is an id, as text: users may live in another database."""

    listed = models.CharField(max_length=64, help_text="Which list: the name of its model.")
    owner = models.CharField(max_length=64, blank=True, default=EVERYBODY, help_text="Whose it is; empty: everybody's.")
    name = models.CharField(max_length=60)
    query = models.TextField(help_text="What stands behind the question mark.")
    made_by = models.CharField(max_length=255, blank=True, default="")
    created_at = models.DateTimeField(default=ledger_time.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["listed", "owner", "name"], name="one_saved_filter_per_name")]
        default_permissions = ()
        permissions = [("share_savedfilter", "Can save filters of lists for everybody")]

    def __str__(self) -> str:
        return self.name
