"""What goes with a rotation whose own routine is deleted, in batches: its members let go of it, its samples go."""

from __future__ import annotations

from routines_app.models import Rotation, RotationSample
from routines_app.protocol.ledger.arrays import AnyOf
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.rotations.finding import BATCH, all_members
from routines_app.verbs.rotations.writing import By, Progress, leave_rotation


def dissolve(rotation_id: int, *, actor: object = "", reason: str = "") -> None:
    """Leave nothing that refers to the rotation but its own row: that one goes with its routine."""
    by = By.checked(actor, reason)
    rotation = Rotation.objects.using(ledger_alias()).select_related("routine").filter(pk=rotation_id).first()
    if rotation is None:
        return
    leave_rotation(rotation, all_members(rotation), by, Progress(None))
    samples = RotationSample.objects.using(ledger_alias())
    while ids := list(samples.filter(rotation_id=rotation_id).values_list("pk", flat=True)[:BATCH]):
        samples.filter(AnyOf("pk", ids)).delete()
