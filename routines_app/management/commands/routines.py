"""`manage.py routines …`: everything an operator does, from a shell."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from routines_app.core.errors import RoutineError
from routines_app.management.subcommands import subcommands


class Command(BaseCommand):
    help = "List, run and manage routines."

    def add_arguments(self, parser: CommandParser) -> None:
        subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="subcommand")
        for name, subcommand in subcommands().items():
            subcommand.add_arguments(subparsers.add_parser(name, help=subcommand.help, description=subcommand.help))

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Without system checks where an error of another app must not be the answer."""
        if not subcommands()[options["subcommand"]].checks_first:
            options["skip_checks"] = True
        return super().execute(*args, **options)

    def handle(self, *args: Any, subcommand: str, **options: Any) -> None:
        try:
            subcommands()[subcommand](self.stdout).handle(**options)
        except RoutineError as error:
            raise CommandError(str(error)) from error
