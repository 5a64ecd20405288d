"""System checks of moving over: another scheduler that is still set, or still fires what ours fires too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery.app import app_or_default
from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import DatabaseError

from routines_app import service

OTHERS = ("django_celery_beat.", "redbeat.")
SHORT_NAMES = ("django", "redbeat")  # as `celery beat -S` may call them
SHOWN = 20


@register(Tags.compatibility)
def check_beat_scheduler(**_: Any) -> list[CheckMessage]:
    """Reads the setting; what a beat is started with is not known here."""
    named = str(app_or_default().conf.beat_scheduler or "")
    if not named.startswith(OTHERS) and named not in SHORT_NAMES:
        return []
    return [
        checks.Warning(
            f"beat_scheduler is {named}: a beat that is started without -S routines runs that one.",
            hint="Right while routines are in shadow. After the switch-over set CELERY_BEAT_SCHEDULER = 'routines', or"
            " leave it out: see docs/moving-over.md.",
            id="routines.W022",
        )
    ]


@register(Tags.database)
def check_fired_twice(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Asks the database: enabled entries of django-celery-beat whose routine fires too."""
    if not databases or service.ledger_alias() not in databases:
        return []
    try:
        found = service.fired_twice()
    except DatabaseError:
        return []  # there are no tables yet
    if not found:
        return []
    named = ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    return [
        checks.Warning(
            f"django-celery-beat and a routine would both fire: {named}.",
            hint="Disable the entry there, or pause the routine; `routines switch-over` does the one for the other.",
            id="routines.W023",
        )
    ]
