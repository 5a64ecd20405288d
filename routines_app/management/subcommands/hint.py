"""`routines hint`: change a schedule for a while."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import (
    Subcommand,
    add_json,
    add_routine,
    add_selectors,
    next_look,
    operator,
    selected,
)


class Command(Subcommand):
    help = "Fire a routine more or less often for a while, or once more; slow down or speed up many."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        add_routine(parser, required=False)
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--every", help="this often, such as 5m, instead of what its trigger says")
        what.add_argument("--at", help="once more at this time, such as 2026-03-01T06:00+01:00")
        what.add_argument("--factor", type=float, help="so many times slower; below 1, faster")
        add_selectors(parser)
        parser.add_argument("--ttl", help="for how long (default 60m, and of --at 30m after its time)")
        parser.add_argument("--reason", default="")
        add_json(parser)

    def handle(self, *, as_json: bool, **options: Any) -> None:
        chosen = selected(options)
        said = {"reason": options["reason"], "actor": operator()}
        if options["ttl"] is not None:
            said["ttl"] = options["ttl"]
        if options["factor"] is None:
            self._hint_one(chosen, options["every"], options["at"], said, as_json)
        else:
            hinted = service.propose_factor(options["factor"], **chosen, **said)
            self._tell(chosen, hinted, as_json)

    def _hint_one(
        self, chosen: dict[str, Any], every: str | None, at: str | None, said: dict[str, Any], as_json: bool
    ) -> None:
        if chosen.keys() != {"routine"}:
            raise CommandError("--every and --at are for one routine: give its name; many take --factor")
        if every is not None:
            service.propose_interval(chosen["routine"], every, **said)
        elif at is not None:
            service.propose_next_time(chosen["routine"], service.typed_moment("--at", at), **said)
        self._tell(chosen, 1, as_json)

    def _tell(self, chosen: dict[str, Any], hinted: int, as_json: bool) -> None:
        if "routine" not in chosen:
            self.told(f"{hinted} routines are hinted", {"hinted": hinted}, as_json=as_json)
            return
        routine = service.find_routine(chosen["routine"])
        state = routine.state
        facts = {"hinted": hinted, "name": routine.name, "next": state.next_run_at, "why": state.next_source}
        self.told(f"{routine.name} is hinted; {next_look(routine)} ({state.next_source})", facts, as_json=as_json)
