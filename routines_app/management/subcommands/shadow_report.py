"""`routines shadow-report`: slot by slot, what the old scheduler fired and what ours would have."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_routines, shown

DIFFERENT = 1
MOST_SHOWN = 100
COLUMNS = ("routine", "slot", "fired at", "late", "who")
UNRECORDED = (
    "{}: no fire of {} was recorded. Does the old beat run, with routines_app in INSTALLED_APPS, since it was moved?"
)


class Command(Subcommand):
    help = (
        "Compare what the old scheduler has fired with what routines in shadow would have: each slot that only one of "
        "them has, and counts. Exits with 1 when they differ."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all that are in shadow")
        parser.add_argument("--since", default="24h", help="how far to look back: 30m, 24h, 7d (default: 24h)")
        parser.add_argument("--all", action="store_true", dest="every_slot", help="tell of each slot, as it is found")
        add_json(parser)

    def handle(
        self, *, routines: list[str], ids: list[int], since: str, every_slot: bool, as_json: bool, **_: Any
    ) -> None:
        chosen: list[str | int] = [*routines, *ids]
        tell = _JsonLines(self) if as_json else _Lines(self)
        report = service.shadow_report(since, routines=chosen or None, each=tell if every_slot else None)
        if not every_slot:
            for slot in report.differences if as_json else report.differences[:MOST_SHOWN]:
                tell(slot)
        tell.end(report)
        if report.differs:
            sys.exit(DIFFERENT)


class _Lines:
    """For people."""

    def __init__(self, command: Subcommand) -> None:
        self._command = command

    def __call__(self, slot: service.ShadowSlot) -> None:
        late = "" if slot.lateness is None else f"  {slot.lateness.total_seconds():+.3f} s"
        self._command.say(f"{slot.who:<9}  {shown(slot.slot or slot.fired_at)}  {slot.routine}{late}")

    def end(self, report: service.ShadowReport) -> None:
        rows = [
            (each.routine, each.scheduler, each.both, each.only_old, each.only_ours, _seconds(each))
            for each in report.routines
            if each.differs
        ]
        if rows:
            self._command.table(("routine", "old scheduler", "both", "only old", "only ours", "latest"), rows)
        for each in report.routines:
            if each.is_unrecorded:
                self._command.say(UNRECORDED.format(each.routine, each.scheduler))
        told = f"{report.both} slots fired by both, {report.only_old} only by the old, {report.only_ours} only by ours"
        if report.slid:
            told += f", {report.slid} that intervals of the old have slid past"
        window = f"{len(report.routines)} routines, {shown(report.since)} to {shown(report.until)}"
        self._command.say(f"{told}: {window}.")


class _JsonLines:
    """For programs: an object in each line, the last one the counts."""

    def __init__(self, command: Subcommand) -> None:
        self._command = command

    def __call__(self, slot: service.ShadowSlot) -> None:
        late = None if slot.lateness is None else slot.lateness.total_seconds()
        self._say(
            {"routine": slot.routine, "who": slot.who, "slot": slot.slot, "fired_at": slot.fired_at, "late": late}
        )

    def end(self, report: service.ShadowReport) -> None:
        routines = [
            {
                "routine": each.routine,
                "scheduler": each.scheduler,
                "key": each.key,
                "both": each.both,
                "slid": each.slid,
                "only_old": each.only_old,
                "only_ours": each.only_ours,
                "latest": None if each.latest is None else each.latest.total_seconds(),
            }
            for each in report.routines
        ]
        self._say({"since": report.since, "until": report.until, "differs": report.differs, "routines": routines})

    def _say(self, facts: dict[str, Any]) -> None:
        self._command.say(json.dumps(facts, default=lambda moment: moment.isoformat()))


def _seconds(counted: service.ShadowedRoutine) -> str:
    return "-" if counted.latest is None else f"{counted.latest.total_seconds():.3f} s"
