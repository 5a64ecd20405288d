"""`routines clear-overrides`: take back what was asked for by hand and has not gone out."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_pool, operator


class Command(Subcommand):
    help = "Cancel the requests by hand that wait; what was sent or runs stays as it is."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_pool(parser)
        parser.add_argument("--reason", default="")
        add_json(parser)

    def handle(self, *, pool: str | int | None, reason: str, as_json: bool, **_: Any) -> None:
        cancelled = service.clear_overrides(pool, reason=reason, actor=operator())
        self.told(f"{cancelled} requests cancelled", {"cancelled": cancelled}, as_json=as_json)
