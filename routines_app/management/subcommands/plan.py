"""`routines plan`: the coming fires, or with `--leases` what a beat would do next with all that could go."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_routines, shown

EXAMPLE = '{"pools": {"db": 3}, "paused": ["report"]}'


class Command(Subcommand):
    help = "Show the coming fires, of all routines or of some; with --leases what would start, wait or be skipped."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routines(parser, none_means="all")
        parser.add_argument("--horizon", help="how far to look, such as 2h or 7d (default 1d)")
        parser.add_argument("--limit", type=int, default=50)
        parser.add_argument("--now", help="from this time on, such as 2026-03-01T06:00+01:00 (default: the present)")
        parser.add_argument("--leases", action="store_true", help="what a beat would do if it looked now, and why")
        parser.add_argument("--what-if", metavar="JSON", help=f"with --leases: another policy, such as {EXAMPLE}")
        parser.add_argument(
            "--pool", dest="pools", action="append", metavar="POOL", help="with --leases: only this one"
        )
        parser.add_argument(
            "--pool-id", dest="pools", action="append", type=int, metavar="ID", help="the same, by its id"
        )
        add_json(parser)

    def handle(self, *, leases: bool, now: str | None, as_json: bool, **options: Any) -> None:
        at = None if now is None else service.typed_moment("--now", now)
        if leases:
            self._plan_leases(at, options, as_json)
            return
        for option in ("what_if", "pools"):
            if options[option] is not None:
                raise CommandError(f"--{'what-if' if option == 'what_if' else 'pool'} goes with --leases")
        chosen = [*options["routines"], *options["ids"]] or None
        fires = service.plan(chosen, now=at, horizon=options["horizon"] or "1d", limit=options["limit"])
        rows = [(fire.slot, fire.name, fire.source) for fire in fires]
        self.records(("slot", "name", "why"), rows, as_json=as_json)

    def _plan_leases(self, at: Any, options: dict[str, Any], as_json: bool) -> None:
        if options["routines"] or options["ids"] or options["horizon"] is not None:
            raise CommandError("--leases is about all routines at one moment: choose with --pool and --now")
        policy = None if options["what_if"] is None else service.read_json("--what-if", options["what_if"])
        plan = service.plan_leases(now=at, pools=options["pools"], what_if=policy, limit=options["limit"])
        if as_json:
            self.told("", asdict(plan), as_json=True)
            return
        rows = [(each.position, each.verdict, each.name, each.slot, each.pool, each.why) for each in plan.decisions]
        self.table(("#", "verdict", "name", "slot", "pool", "why"), rows)
        if policy is not None:
            self.say("")
            self._tell_differences(plan)
        if plan.truncated:
            self.say("there is more: give a higher --limit")

    def _tell_differences(self, plan: service.LeasePlan) -> None:
        if not plan.differences:
            self.say(f"the same as now, for all that could go at {shown(plan.now)}")
            return
        self.say("otherwise than now:")
        rows = [(each.name, each.slot, each.now, each.then, each.why) for each in plan.differences]
        self.table(("name", "slot", "now", "then", "why"), rows)
