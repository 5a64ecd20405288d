"""`routines plan`: the coming fires."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_routines


class Command(Subcommand):
    help = "Show the coming fires, of all routines or of some."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all")
        parser.add_argument("--horizon", default="1d", help="how far to look, such as 2h or 7d (default 1d)")
        parser.add_argument("--limit", type=int, default=50)
        add_json(parser)

    def handle(self, *, routines: list[str], ids: list[int], horizon: str, limit: int, as_json: bool, **_: Any) -> None:
        fires = service.plan([*routines, *ids] or None, horizon=horizon, limit=limit)
        rows = [(fire.slot, fire.name, fire.source) for fire in fires]
        self.records(("slot", "name", "why"), rows, as_json=as_json)
