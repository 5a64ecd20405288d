"""`routines clear-hints`: let schedules be themselves again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import (
    Subcommand,
    add_json,
    add_routine,
    add_selectors,
    next_look,
    operator,
    selected,
)


class Command(Subcommand):
    help = "Forget the hints of a routine, or of many; their triggers decide again."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser, required=False)
        add_selectors(parser)
        parser.add_argument("--reason", default="")
        add_json(parser)

    def handle(self, *, reason: str, as_json: bool, **options: Any) -> None:
        chosen = selected(options)
        cleared: Any = service.clear_hints(**chosen, reason=reason, actor=operator())
        if isinstance(cleared, int):
            self.told(f"the hints of {cleared} routines are cleared", {"cleared": cleared}, as_json=as_json)
            return
        state = cleared.state
        facts = {"cleared": 1, "name": cleared.name, "next": state.next_run_at, "why": state.next_source}
        self.told(f"the hints of {cleared.name} are cleared; {next_look(cleared)}", facts, as_json=as_json)
