"""`routines give-back`: let code say again what people have changed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, next_look, operator


class Command(Subcommand):
    help = "Set fields of a routine that is declared in code to what code says; they follow it from then on."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("routine", help="its name")
        parser.add_argument("fields", nargs="*", help="which; none means all that differ")
        parser.add_argument("--reason", default="")
        add_json(parser)

    def handle(self, *, routine: str, fields: list[str], reason: str, as_json: bool, **_: Any) -> None:
        before = service.differences(service.find_routine(routine))
        given = service.give_back(routine, fields or None, reason=reason, actor=operator())
        back = sorted(before.keys() - service.differences(given).keys())
        line = f"{given.name}: {', '.join(back) or 'nothing'} given back to code; {next_look(given)}"
        self.told(line, {"name": given.name, "given_back": back}, as_json=as_json)
