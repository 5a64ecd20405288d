"""What the subcommands have in common: they write lines, tables or JSON."""

from __future__ import annotations

import argparse
import getpass
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol

from django.core.management.base import CommandParser

from routines_app.models import Routine


class Output(Protocol):
    def write(self, msg: str = ...) -> object: ...


class Subcommand:
    """One of them. `handle` gets the parsed options; a `RoutineError` becomes the command's error."""

    help: ClassVar[str]
    checks_first: ClassVar[bool] = True
    """Whether Django's system checks come first, those of every app; one that finds an error ends the command."""

    def __init__(self, out: Output) -> None:
        self.out = out

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        """Declare the subcommand's own options."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it."""
        raise NotImplementedError

    def say(self, line: str) -> None:
        self.out.write(line)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Columns as wide as their content."""
        lines = [[column.upper() for column in columns], *([shown(value) for value in row] for row in rows)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
        for line in lines:
            self.say("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())

    def records(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool) -> None:
        """A table for people, or a JSON list of objects for programs."""
        if as_json:
            found = [dict(zip(columns, row, strict=True)) for row in rows]
            self.say(json.dumps(found, default=shown, indent=2))
        else:
            self.table(columns, rows)

    def told(self, line: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
        """What was done: a sentence for people, or a JSON object for programs."""
        self.say(json.dumps(facts, default=shown, indent=2) if as_json else line)


def shown(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return str(value)


def next_look(routine: Routine) -> str:
    """When a beat will look at the routine next, as a clause."""
    at = routine.state.next_run_at
    return "nothing is planned" if at is None else f"next look {shown(at)}"


def operator() -> str:
    """Who is recorded as having done it."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a container whose user has no name
        return "command line"


def add_routine(parser: CommandParser, *, required: bool = True) -> None:
    """The option `routine`: a name, as text, or with `--id` an id, as a number."""
    which = parser.add_mutually_exclusive_group(required=required)
    which.add_argument("routine", nargs="?", default=argparse.SUPPRESS, help="its name")
    which.add_argument(
        "--id", dest="routine", type=int, default=argparse.SUPPRESS, metavar="ID", help="its id, instead of its name"
    )


def add_routines(parser: CommandParser, *, none_means: str) -> None:
    """The options `routines`, names, and `ids`: any number of either."""
    parser.add_argument("routines", nargs="*", help=f"names; none means {none_means}")
    parser.add_argument(
        "--id", dest="ids", action="append", default=[], type=int, metavar="ID", help="an id; may be repeated"
    )


def add_selectors(parser: CommandParser) -> None:
    """Instead of one routine, all that have something in common; `selected` reads them."""
    for name, what in (("tag", "a tag"), ("group", "a group"), ("queue", "a queue")):
        parser.add_argument(f"--{name}", metavar=name.upper(), help=f"all routines of {what}, instead of one")
    add_pool(parser, "all routines of a pool, by its name, instead of one")


def selected(options: Mapping[str, Any]) -> dict[str, Any]:
    """What was chosen by `add_routine` or `add_selectors`, as the verbs take it."""
    names = ("routine", "tag", "group", "queue", "pool")
    return {name: options[name] for name in names if options.get(name) is not None}


def add_pool(parser: CommandParser, which_one: str = "only this pool, by its name (default: all)") -> None:
    """The option `pool`: a name, as text, or an id, as a number; None: not given."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--pool", metavar="POOL", help=which_one)
    which.add_argument("--pool-id", dest="pool", type=int, metavar="ID", help="the same, by its id")


def add_json(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")
