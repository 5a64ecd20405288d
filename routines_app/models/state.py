"""Routine states: what the machinery remembers about each routine."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Q

from routines_app.core.words import ASLEEP, SLOT_SOURCES, CatchUpPolicy, HintKind, Source
from routines_app.models.choices import choices_of, is_word, word_field
from routines_app.models.routine import Routine

_ASLEEP = sorted(source.value for source in ASLEEP)
_OF_SLOTS = [source.value for source in Source if source in SLOT_SOURCES]

HINT_COLUMNS = {
    HintKind.INTERVAL: (
        "hint_interval_ms",
        "hint_interval_expires_at",
        "hint_interval_reason",
        "hint_interval_by",
    ),
    HintKind.NEXT: ("hint_next_at", "hint_next_expires_at", "hint_next_reason", "hint_next_by"),
    HintKind.FACTOR: ("hint_factor", "hint_factor_expires_at", "hint_factor_reason", "hint_factor_by"),
}
"""By kind: the columns of its value, its expiry, its reason and its author."""


class Hint(NamedTuple):
    """A temporary change of a schedule, as it is stored."""

    kind: HintKind
    value: Any
    expires_at: datetime
    reason: str
    by: str


def no_hint(kind: HintKind) -> dict[str, Any]:
    """The columns of that kind where there is none."""
    value, expires_at, reason, by = HINT_COLUMNS[kind]
    return {value: None, expires_at: None, reason: "", by: ""}


def _expires(kind: HintKind) -> models.CheckConstraint:
    value, expires_at = HINT_COLUMNS[kind][:2]
    return models.CheckConstraint(
        condition=Q(**{f"{value}__isnull": True, f"{expires_at}__isnull": True})
        | Q(**{f"{value}__isnull": False, f"{expires_at}__isnull": False}),
        name=f"state_hint_{kind.value}_has_expiry",
    )


class RoutineState(models.Model):
    """One narrow row per routine, written by beats and workers and never by a form.

    `next_run_at` is when a beat must look at the routine again; NULL means that no beat needs to.
    """

    routine = models.OneToOneField(Routine, primary_key=True, on_delete=models.CASCADE, related_name="state")
    last_slot = models.DateTimeField(null=True, help_text="The anchor: the last slot of the schedule accounted for.")
    grid_from = models.DateTimeField(
        null=True, help_text="What an interval's slots are counted from; empty: its start, or the creation."
    )
    clamps_from = models.DateTimeField(
        null=True, help_text="The last scheduled slot that has a row: what clamps count from."
    )
    next_slot = models.DateTimeField(null=True, help_text="The next slot to fire.")
    slot_source = models.CharField(
        max_length=24,
        choices=[(code, label) for code, label in choices_of(Source) if code in _OF_SLOTS],
        blank=True,
        default="",
        db_default="",
        help_text="Why that slot, whatever holds it back; empty: there is none.",
    )
    next_run_at = models.DateTimeField(null=True)
    next_source = word_field(Source, Source.MANUAL)

    hint_interval_ms = models.BigIntegerField(null=True)
    hint_interval_expires_at = models.DateTimeField(null=True)
    hint_interval_reason = models.TextField(default="", db_default="")
    hint_interval_by = models.CharField(max_length=255, default="", db_default="")

    hint_next_at = models.DateTimeField(null=True)
    hint_next_expires_at = models.DateTimeField(null=True)
    hint_next_reason = models.TextField(default="", db_default="")
    hint_next_by = models.CharField(max_length=255, default="", db_default="")

    hint_factor = models.FloatField(null=True)
    hint_factor_expires_at = models.DateTimeField(null=True)
    hint_factor_reason = models.TextField(default="", db_default="")
    hint_factor_by = models.CharField(max_length=255, default="", db_default="")

    last_run_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    failure_count = models.PositiveIntegerField(default=0, db_default=0, help_text="Chains FAILED in a row.")
    fence = models.BigIntegerField(default=0, db_default=0)
    fingerprint = models.CharField(max_length=16, default="", db_default="")
    release_policy = models.CharField(
        max_length=24,
        choices=choices_of(CatchUpPolicy),
        blank=True,
        default="",
        db_default="",
        help_text="How slots up to release_until are caught up; empty: as the routine says.",
    )
    release_until = models.DateTimeField(null=True, help_text="The end of the pause that is being released.")

    class Meta:
        indexes = [
            models.Index(fields=["next_run_at", "routine"], name="state_due"),
            models.Index(
                fields=["next_source"],
                name="state_catching_up",
                condition=Q(next_source=Source.CATCHING_UP.value),
            ),
            # The few that the admin's list is asked for. No column of these changes with a run that goes well: what
            # such a run writes stays a heap-only update.
            models.Index(fields=["routine"], name="state_failing", condition=Q(failure_count__gt=0)),
            models.Index(
                fields=["routine"],
                name="state_hinted",
                condition=Q(hint_interval_expires_at__isnull=False)
                | Q(hint_next_expires_at__isnull=False)
                | Q(hint_factor_expires_at__isnull=False),
            ),
        ]
        constraints = [
            is_word("next_source", Source, "state_source_is_known"),
            models.CheckConstraint(condition=Q(slot_source__in=["", *_OF_SLOTS]), name="state_slot_source_is_known"),
            models.CheckConstraint(
                condition=Q(next_source__in=_ASLEEP, next_run_at__isnull=True)
                | Q(next_source=Source.PAUSED.value)
                | (~Q(next_source__in=_ASLEEP) & Q(next_run_at__isnull=False)),
                name="state_asleep_means_no_next_run",
            ),
            models.CheckConstraint(
                condition=Q(release_policy="", release_until__isnull=True)
                | (~Q(release_policy="") & Q(release_until__isnull=False)),
                name="state_release_has_policy_and_end",
            ),
            *(_expires(kind) for kind in HintKind),
        ]

    def __str__(self) -> str:
        return f"state of {self.routine_id}"

    def set_slot(self, slot: datetime | None, source: Source | None) -> None:
        """The next slot and why that one; when a beat looks at it is another matter. The caller saves."""
        self.next_slot = slot
        self.slot_source = "" if slot is None or source is None else source.value

    def hint(self, kind: HintKind) -> Hint | None:
        """The hint of that kind, also one whose time is over and that nobody has dropped yet."""
        value, expires_at, reason, by = (getattr(self, column) for column in HINT_COLUMNS[kind])
        return None if value is None else Hint(kind, value, expires_at, reason, by)

    def fresh_hints(self, now: datetime) -> list[Hint]:
        """The hints that are in force."""
        found = (self.hint(kind) for kind in HintKind)
        return [hint for hint in found if hint is not None and hint.expires_at > now]

    def give_hint(self, hint: Hint) -> None:
        """Replaces the one of its kind, and no other. The caller plans and saves."""
        for column, value in zip(HINT_COLUMNS[hint.kind], hint[1:], strict=True):
            setattr(self, column, value)

    def drop_hint(self, kind: HintKind) -> None:
        for column, value in no_hint(kind).items():
            setattr(self, column, value)
