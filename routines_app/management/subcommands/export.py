"""`routines export`: routines, rotations and pools as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_routines


class Command(Subcommand):
    help = "Write routines, rotations and pools as YAML or JSON: what people have decided, secrets by name only."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all, and all pools")
        parser.add_argument("--tag", metavar="TAG", help="only routines with this tag")
        parser.add_argument("--format", choices=list(service.FileFormat), help="default: by FILE's ending, else yaml")
        parser.add_argument("--output", metavar="FILE", help="where to write it (default: the standard output)")
        parser.add_argument("--with-archived", action="store_true", help="archived routines too")
        parser.add_argument("--with-declared", action="store_true", help="routines that are declared in code too")

    def handle(self, *, tag: str | None, output: str | None, **options: Any) -> None:
        chosen = [*options["routines"], *options["ids"]] or None
        data = service.export_routines(
            chosen, tag=tag, archived=options["with_archived"], declared=options["with_declared"]
        )
        text = service.render_export(data, options["format"] or _format_of(output))
        if output is None:
            self.say(text.removesuffix("\n"))
            return
        try:
            Path(output).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{output} cannot be written: {error}") from error
        self.say(f"{output}: {len(data.get('routines', {}))} routines, {len(data.get('rotations', {}))} rotations")


def _format_of(output: str | None) -> str:
    return service.FileFormat.JSON if output is not None and output.endswith(".json") else service.FileFormat.YAML
