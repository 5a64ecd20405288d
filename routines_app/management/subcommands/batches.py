"""`routines batches`: the batches of pauses."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json
from routines_app.models import PauseBatch

COLUMNS = ("id", "name", "by", "paused", "until", "reason", "who", "state")


class Command(Subcommand):
    help = "List the open batches of pauses: what chose their routines, and how many they hold."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--closed", action="store_true", help="also those that are over")
        parser.add_argument("--limit", type=int, default=100)
        add_json(parser)

    def handle(self, *, closed: bool, limit: int, as_json: bool, **_: Any) -> None:
        rows = [_row(batch) for batch in service.list_pause_batches(limit, closed=closed)]
        self.records(COLUMNS, rows, as_json=as_json)


def _row(batch: PauseBatch) -> tuple[Any, ...]:
    by = f"{batch.selected_by.get('by')} {batch.selected_by.get('value')}"
    return batch.pk, batch.name, by, batch.paused, batch.until, batch.reason, batch.created_by, batch.standing
