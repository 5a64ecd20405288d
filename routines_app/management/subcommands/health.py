"""`routines health`: an answer for probes, by its exit code."""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json
from routines_app.models import Role

SECONDS = 5.0  # a probe that waits longer has given up


class Command(Subcommand):
    checks_first = False  # a probe restarts what answers with 1: for an error of some other app it must not
    help = (
        "Exit with 0 when beats and workers do their work, with 1 when they do not, and say why in one line. They are"
        " healthy when they report themselves and the work moves. With --here only this host's process is judged: by"
        " HEARTBEAT_FILE where it is set, which asks no server, else by what it has reported."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--beat", dest="roles", action="store_const", const=[Role.BEAT], help="judge the beats")
        who.add_argument("--worker", dest="roles", action="store_const", const=[Role.WORKER], help="judge the workers")
        who.add_argument("--all", dest="roles", action="store_const", const=list(Role), help="both (the default)")
        parser.set_defaults(roles=list(Role))
        parser.add_argument("--here", action="store_true", help="only this host: for a liveness probe")
        parser.add_argument(
            "--max-age",
            type=_length,
            metavar="SECONDS",
            help="how old the last sign of life may be (default: three times NODE_SECONDS)",
        )
        add_json(parser)

    def handle(self, *, roles: list[Role], here: bool, max_age: timedelta | None, as_json: bool, **_: Any) -> None:
        found = service.health(roles=roles, here=here, max_age=max_age, seconds=SECONDS)
        state = "healthy" if found.healthy else "unhealthy"
        self.told(f"{state}: {found.why}", found.facts(), as_json=as_json)
        if not found.healthy:
            sys.exit(1)


def _length(seconds: str) -> timedelta:
    try:
        return timedelta(seconds=float(seconds))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{seconds!r} is not accepted: give a number of seconds, such as 60") from None
