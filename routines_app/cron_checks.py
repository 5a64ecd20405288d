"""The system check of stored schedules: it asks the database, so Django has to be told to check databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Tags, register
from django.db import DatabaseError

from routines_app import service

SHOWN = 20


@register(Tags.database)
def check_crons(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Crons that croniter, by which most other schedulers compute, reads otherwise."""
    if not databases or service.ledger_alias() not in databases:
        return []
    try:
        found = service.disagreements()
    except DatabaseError:
        return []  # there are no tables yet
    hint = "Here it fires as docs/cron.md says. Write it in another way if that is not what you want."
    return [checks.Warning(f"Routine {names}: {what}.", hint=hint, id="routines.W017") for names, what in found[:SHOWN]]
