"""The options of `routines rotation`: what a rotation is given, and which members are meant."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service

TEXTS = {
    "every": "how often it ticks, such as 30m",
    "cron": "when it ticks, instead",
    "timezone": "of that cron",
    "fresh_for": "how long a member is fresh after its cycle, such as 1d",
    "task": "of members that say nothing else",
    "seed": "the dotted path of a callable that yields what should be members",
    "description": "what it is for",
    "pool": "of its seedings",
    "queue": "of its seedings",
}
NUMBERS = {"budget": "how many members a tick picks at most", "max_in_flight": "how many may be in flight together"}


def add_changes(parser: CommandParser) -> None:
    for name, words in TEXTS.items():
        parser.add_argument(_option(name), dest=name, help=words)
    for name, words in NUMBERS.items():
        parser.add_argument(_option(name), dest=name, type=int, help=words)
    parser.add_argument(
        "--depth-weight", type=float, help="how much longer deeper members count as having waited (default: 0.5)"
    )
    parser.add_argument("--timeout", help="how long a seeding may take, such as 10m")
    parser.add_argument("--phases", metavar="JSON", help='such as [{"name": "plan", "task": "shop.tasks.plan"}]')
    parser.add_argument(
        "--archive-vanished",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="archive members that the callable gives no longer",
    )
    parser.add_argument(
        "--allow-unknown-task", action="store_true", help="take tasks and callables that only workers know"
    )


def changes(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were given, as the verbs take them."""
    names = [*TEXTS, *NUMBERS, "depth_weight", "archive_vanished"]
    given = {name: options[name] for name in names if options[name] is not None}
    if options["timeout"] is not None:
        given["timeout_ms"] = service.parse_duration(options["timeout"], field="timeout")
    if options["phases"] is not None:
        given["phases"] = service.read_json("phases", options["phases"])
    if given and options["allow_unknown_task"]:
        given["allow_unknown_task"] = True
    return given


def add_members(parser: CommandParser, *, everybody: bool) -> None:
    """One list of names: whether the first of them is the rotation's, `--id` says, and argparse cannot."""
    parser.add_argument("names", nargs="*", help="the rotation's name, and those of members")
    parser.add_argument("--id", dest="rotation", type=int, metavar="ID", help="the rotation's id, instead of its name")
    parser.add_argument("--from-file", metavar="FILE", help="names, one in a line; - is the standard input")
    if everybody:
        parser.add_argument("--all", action="store_true", help="all members")


def given_members(options: dict[str, Any]) -> tuple[str | int, list[str]]:
    """Which rotation, and the names of members: none are all of them."""
    first, others = options["names"][:1], options["names"][1:]
    by_id = options["rotation"] is not None
    if not by_id and not first:
        raise CommandError("give the rotation's name, or --id")
    names = [*(options["names"] if by_id else others), *_lines(options["from_file"])]
    if options.get("all") and names:
        raise CommandError("give names of members or --all, not both")
    if not names and not options.get("all"):
        raise CommandError("give names of members, or --from-file")
    return options["rotation"] if by_id else first[0], names


def _lines(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
            return [line.strip() for line in lines if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
