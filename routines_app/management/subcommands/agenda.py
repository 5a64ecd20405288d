"""`routines agenda`: the coming fires of all routines, the load that they make, and pools that would be too small."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_pool, shown


class Command(Subcommand):
    help = "Show what will fire within the next hour or day, how much at once, and which pools would be too small."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("--horizon", default="1h", help="how far to look, at most 1d (default 1h)")
        parser.add_argument("--limit", type=int, default=20, help="how many fires to list (default 20)")
        parser.add_argument("--now", help="from this time on, such as 2026-03-01T06:00+01:00 (default: the present)")
        parser.add_argument("--tag", help="only routines with this tag")
        parser.add_argument("--queue", help="only routines of this queue")
        add_pool(parser)
        add_json(parser)

    def handle(self, *, now: str | None, as_json: bool, **options: Any) -> None:
        chosen = {name: options[name] for name in ("horizon", "limit", "tag", "queue", "pool")}
        at = None if now is None else service.typed_moment("--now", now)
        agenda = service.agenda(now=at, **chosen)
        if as_json:
            self.told("", asdict(agenda), as_json=True)
            return
        self.table(("slot", "name", "why"), [(fire.slot, fire.name, fire.source) for fire in agenda.fires])
        if agenda.more:
            self.say("there is more: give a higher --limit")
        self._tell_load(agenda)
        self._tell_pools(agenda)

    def _tell_load(self, agenda: service.Agenda) -> None:
        total = sum(load.fires for load in agenda.load)
        busiest = max(agenda.load, key=lambda load: load.fires)
        about = "about " if any(load.is_estimate for load in agenda.load) else ""
        self.say("")
        self.say(f"{about}{total:,.0f} fires until {shown(agenda.until)}")
        if total:
            step = service.format_duration(int(agenda.step.total_seconds() * 1000))
            self.say(f"the busiest {step}: {busiest.fires:,.0f} from {shown(busiest.begin)} on")

    def _tell_pools(self, agenda: service.Agenda) -> None:
        """By the usual durations of the last runs: an estimate."""
        if not agenda.pools:
            return
        self.say("")
        rows = [
            (
                pool.name,
                pool.max_concurrent,
                pool.fires,
                pool.unmeasured,
                max(pool.peaks),
                next(iter(pool.crowded), None),
            )
            for pool in agenda.pools
        ]
        self.table(("pool", "places", "fires", "unmeasured", "expected at once", "too small from"), rows)
