"""`routines index-search`: let the admin find routines by any part of their names."""

from __future__ import annotations

from typing import Any

from routines_app import service
from routines_app.management.subcommand import Subcommand


class Command(Subcommand):
    help = "Make the index by which the admin finds any part of a name: PostgreSQL with pg_trgm, beside the work."

    def handle(self, **_: Any) -> None:
        made = service.index_search()
        self.say("the index is made" if made else "the index is there already")
