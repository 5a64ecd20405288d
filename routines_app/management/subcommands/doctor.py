"""`routines doctor`: what is wrong with this deployment, and what to do."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json

FAILS = {service.Level.ERROR}
FAILS_STRICTLY = FAILS | {service.Level.WARNING, service.Level.UNKNOWN}


class Command(Subcommand):
    checks_first = False  # ours are one of its questions
    help = (
        "Ask database, broker, Redis, beats, workers and the ledger what is wrong: a line for each, with what to do."
        " Exits with 1 when there is an error; with --strict also when there is a warning, or something could not be"
        " asked."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--strict", action="store_true", help="exit with 1 also when there is a warning")
        add_json(parser)

    def handle(self, *, strict: bool, as_json: bool, **_: Any) -> None:
        findings = service.doctor()
        if as_json:
            rows = [tuple(asdict(each).values()) for each in findings]
            self.records(("check", "level", "found", "advice"), rows, as_json=True)
        else:
            self._tell(findings)
        if any(each.level in (FAILS_STRICTLY if strict else FAILS) for each in findings):
            sys.exit(1)

    def _tell(self, findings: list[service.Finding]) -> None:
        width = max(len(each.check) for each in findings)
        for each in findings:
            advice = f" -> {each.advice}" if each.advice else ""
            self.say(f"{each.level:<8} {each.check:<{width}}  {each.found}{advice}")
