"""`routines why`: why a routine ran, or did not, at a moment."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json


class Command(Subcommand):
    help = "Say why a routine ran, or did not, at a moment, in the routine's timezone."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument(
            "words",
            nargs="*",
            metavar=("NAME", "TIME"),
            help="its name, and a time such as 03:00, yesterday 03:00, monday 03:00, 2026-11-17 03:00, 2 h ago or ISO"
            " 8601; no time means now",
        )
        parser.add_argument("--id", dest="pk", type=int, metavar="ID", help="its id, instead of its name")
        add_json(parser)

    def handle(self, *, words: list[str], pk: int | None, as_json: bool, **_: Any) -> None:
        name = words[:1] if pk is None else [pk]
        if not name:
            raise service.InvalidValue("routine", "", "give the routine's name, or --id")
        time = " ".join(words if pk is not None else words[1:])
        answer = service.why(name[0], service.typed_at(name[0], time or "now"))
        if as_json:
            self.told("", asdict(answer), as_json=True)
            return
        for sentence in answer.sentences:
            self.say(sentence.text)
