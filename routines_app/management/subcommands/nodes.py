"""`routines nodes`: the beats and workers that have reported themselves."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json
from routines_app.models import Node


class Command(Subcommand):
    help = "Show the beats and workers that have reported themselves."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_json(parser)

    def handle(self, *, as_json: bool, **_: Any) -> None:
        nodes = Node.objects.using(service.ledger_alias()).order_by("role", "name")
        rows = [(n.name, n.role, n.seen_at, n.running_runs, _load(n), _state(n)) for n in nodes]
        self.records(("name", "role", "seen", "running", "load", "state"), rows, as_json=as_json)


def _load(node: Node) -> float | None:
    return None if node.load is None else round(node.load, 2)


def _state(node: Node) -> str:
    return "; ".join([*(["draining"] if node.draining else []), *node.problems])
