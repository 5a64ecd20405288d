"""Moving an entry of django-celery-beat over, and looking at what it became."""

from __future__ import annotations

from typing import Any

from routines_app import service
from routines_app.models import Routine
from routines_app.service import Move, MoveAct

DCB = service.OldScheduler.DJANGO_CELERY_BEAT


def moved(name: str, **how: Any) -> tuple[Move, Routine | None]:
    (move,) = [each for each in service.move_over(DCB, **how).moves if each.key == name]
    return move, Routine.objects.filter(name=name).select_related("state").first()


def made(name: str, **how: Any) -> Routine:
    move, routine = moved(name, **how)
    assert (move.act, move.differs) == (MoveAct.CREATE, False), move
    assert routine is not None
    assert move.routine_id == routine.pk
    return routine
