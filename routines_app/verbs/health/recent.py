"""Health for whoever asks again and again, and may be anybody: asked of the ledger now and then only (`shared.py`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from routines_app.models import Role
from routines_app.verbs.health.health import health
from routines_app.verbs.health.shared import SharedAnswer, Unanswered

KEPT_SECONDS = 2
SECONDS = 5.0  # a monitor that waits longer has given up

_shared = SharedAnswer("health-1")


def recent_health(roles: Collection[Role]) -> dict[str, Any]:
    """The facts of `health`, at most two seconds old. Never raises, and answers within ten seconds."""
    about = "-".join(sorted(roles))
    try:
        return _shared.get(about, lambda: health(roles=roles).facts(), seconds=SECONDS, kept_seconds=KEPT_SECONDS)
    except Unanswered as error:
        return {"healthy": False, "why": f"the database could not be asked: {error}"}
