"""`routines queue`: what runs now, and what waits, in the order in which it goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_pool


class Command(Subcommand):
    help = "Show what runs and what waits: requests by hand first, then by rank, and why each waits."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_pool(parser)
        parser.add_argument("--limit", type=int, default=200)
        add_json(parser)

    def handle(self, *, pool: str | int | None, limit: int, as_json: bool, **_: Any) -> None:
        queue = service.queue(pool, limit=limit)
        if as_json:
            self.told("", asdict(queue), as_json=True)
            return
        self.say(f"running: {len(queue.running)}")
        running = [
            (run.name, run.pool, run.since, run.worker, "overdue" if run.overdue else "") for run in queue.running
        ]
        self._part(("name", "pool", "since", "worker", "state"), running)
        self.say(f"asked for by hand: {len(queue.overrides)}")
        asked = [
            (run.position, run.name, run.pool, run.requested_by, run.requested_at, run.why) for run in queue.overrides
        ]
        self._part(("#", "name", "pool", "by", "at", "why"), asked)
        self.say(f"waiting: {queue.waiting}")
        self._part(("#", "name", "pool", "band", "success", "slot", "why"), _automatic(queue.automatic))
        if queue.truncated:
            self.say("there is more: give a higher --limit")

    def _part(self, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
        if rows:
            self.table(columns, rows)
        self.say("")


def _automatic(runs: Iterable[service.QueuedRun]) -> list[tuple[Any, ...]]:
    return [(run.position, run.name, run.pool, run.band, _ago(run), run.slot, run.why) for run in runs]


def _ago(run: service.QueuedRun) -> str:
    """When its routine last succeeded."""
    seconds = run.stale_seconds
    return "never" if seconds is None else f"{service.format_duration(round(seconds) * 1000)} ago"
