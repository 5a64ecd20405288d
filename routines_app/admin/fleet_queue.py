"""The queue on the fleet page: what runs, what was asked for by hand, what comes by itself; of one pool or of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from routines_app import service
from routines_app.admin.permissions import may
from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError
from routines_app.models import Pool

SHOWN = 25  # rows of each part: who wants more asks the command line
READ = 100  # of which some are overrides


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The first rows of one part of the queue, and how many there are besides."""

    rows: Sequence[Any]
    more: int

    @classmethod
    def of(cls, rows: Sequence[Any]) -> Part:
        return cls(rows=rows[:SHOWN], more=max(0, len(rows) - SHOWN))


def queue_facts(chosen: str, pools: Sequence[Pool]) -> dict[str, Any]:
    """What the card needs. A pool that is not there is said; nothing else of the page suffers."""
    facts: dict[str, Any] = {"chosen_pool": chosen, "pool_names": [pool.name for pool in pools]}
    try:
        queue = service.queue(chosen or None, limit=READ)
    except RoutineError as refused:
        return facts | {"queue_problem": translated(refused)}
    automatic = Part.of(queue.automatic)
    unread = max(0, queue.waiting - len(queue.overrides) - len(queue.automatic))
    if queue.automatic:  # overrides come first: they have all been read
        automatic, unread = Part(rows=automatic.rows, more=automatic.more + unread), 0
    return facts | {
        "queue": queue,
        "now_running": Part.of(queue.running),
        "overrides": Part.of(queue.overrides),
        "automatic": automatic,
        "unread": unread,
    }


def chosen_pool(request: HttpRequest) -> str:
    """The name of the pool that the page is asked for; empty: all."""
    return request.GET.get("pool", "")


def verbs_for(request: HttpRequest) -> dict[str, bool]:
    """What the card offers to this person."""
    return {"may_clear": may(request, "cancel_routinerun"), "may_run": may(request, "run_routine")}
