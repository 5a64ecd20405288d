"""Which rotations there are."""

from __future__ import annotations

from routines_app.models import Rotation
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.rules import Integer

LIMIT = Integer(least=1, most=10_000)


def list_rotations(limit: int = 100) -> list[Rotation]:
    """By name, with their own routines and these one's states; archived ones too."""
    rotations = Rotation.objects.using(ledger_alias()).select_related("routine__state")
    return list(rotations.order_by("routine__name")[: LIMIT("limit", limit)])
