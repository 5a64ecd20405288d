"""Members of rotations: where each is in its cycle, and what it ranks by."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from routines_app.core.keys import EPOCH
from routines_app.core.rotation import CHRONIC_FAILURES
from routines_app.core.words import MemberStatus
from routines_app.models.choices import is_word, word_field
from routines_app.models.rotation import Rotation
from routines_app.models.routine import Routine


class RotationMember(models.Model):
    """One narrow row per routine that names a rotation, written by ticks and ends and never by a form.

    Rank is read from here alone: a tick asks an index, whatever number of members is fresh.
    """

    routine = models.OneToOneField(Routine, primary_key=True, on_delete=models.CASCADE, related_name="membership")
    rotation = models.ForeignKey(Rotation, on_delete=models.CASCADE, related_name="members", db_index=False)
    status = word_field(MemberStatus, MemberStatus.OWED)
    phase = models.PositiveSmallIntegerField(default=0, db_default=0, help_text="Which phase comes next.")

    band = models.PositiveSmallIntegerField(default=1, db_default=1, help_text="Of the routine's priority.")
    depth = models.PositiveIntegerField(default=0, db_default=0, help_text="The routine's.")
    emphasis = models.FloatField(default=1.0, db_default=1.0, help_text="The routine's.")
    attempted_at = models.DateTimeField(default=EPOCH, help_text="The end of its last attempt; 1970: there was none.")

    stale_since = models.DateTimeField(help_text="Its last whole cycle, or when it became a member.")
    cycles = models.BigIntegerField(default=0, db_default=0, help_text="Whole cycles so far.")
    failures = models.PositiveIntegerField(default=0, db_default=0, help_text="Of its next phase, in a row.")
    rank_phase = models.GeneratedField(
        expression=models.Case(
            models.When(failures__gte=CHRONIC_FAILURES, then=models.Value(0)),
            default=models.F("phase"),
            output_field=models.PositiveSmallIntegerField(),
        ),
        output_field=models.PositiveSmallIntegerField(),
        db_persist=True,
        help_text="The phase that it ranks by: `core.rotation.rank_phase`.",
    )
    due_at = models.DateTimeField(null=True, help_text="FRESH: when it is owed.")
    retry_tick = models.BigIntegerField(null=True, help_text="FAILED: the rotation's tick from which it is owed again.")
    run = models.UUIDField(null=True, help_text="IN_FLIGHT: the chain that is under way, by its first run.")

    class Meta:
        indexes = [
            # First: MariaDB and MySQL hold the reference to the rotation by the first index that begins with it, and
            # ask for its row whenever an entry of that index is written. A status changes much oftener than this.
            models.Index(fields=["rotation", "stale_since"], name="member_by_staleness"),
            models.Index(
                fields=["rotation", "status", "rank_phase", "band", "depth", "emphasis", "attempted_at", "routine"],
                name="member_by_rank",
            ),
            models.Index(fields=["rotation", "status", "due_at"], name="member_by_due"),
            models.Index(fields=["rotation", "status", "retry_tick"], name="member_by_retry"),
        ]
        constraints = [
            is_word("status", MemberStatus, "member_status_is_known"),
            models.CheckConstraint(
                condition=Q(status=MemberStatus.IN_FLIGHT.value, run__isnull=False)
                | (~Q(status=MemberStatus.IN_FLIGHT.value) & Q(run__isnull=True)),
                name="member_in_flight_has_a_run",
            ),
            models.CheckConstraint(
                condition=~Q(status=MemberStatus.FRESH.value) | Q(due_at__isnull=False), name="member_fresh_has_an_end"
            ),
            models.CheckConstraint(
                condition=~Q(status=MemberStatus.FAILED.value) | Q(retry_tick__isnull=False),
                name="member_failed_has_a_tick",
            ),
        ]

    def __str__(self) -> str:
        return f"member {self.routine_id}"
