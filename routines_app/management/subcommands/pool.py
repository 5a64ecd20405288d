"""`routines pool`: the pools, and how full they are."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, operator
from routines_app.models import Pool


class Command(Subcommand):
    help = "List, create, change, drain, stop and delete pools: ceilings on runs in flight together."

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="list|create|change|drain|open|stop|delete"
        )
        listing = actions.add_parser("list", help="the pools, how many of their runs are in flight, how many wait")
        listing.add_argument("--limit", type=int, default=100)
        create = actions.add_parser("create", help="a new pool")
        create.add_argument("pool", help="its name")
        create.add_argument("--max", type=int, required=True, help="its ceiling")
        create.add_argument("--default", action="store_true", help="of all routines that name no pool")
        change = actions.add_parser("change", help="its name, its ceiling, or whether it is the default")
        change.add_argument("--name", help="its new name")
        change.add_argument("--max", type=int, help="its new ceiling")
        change.add_argument("--default", action=argparse.BooleanOptionalAction, help="of routines that name no pool")
        drain = actions.add_parser("drain", help="let nothing of it start; what runs goes on to its end")
        opened = actions.add_parser("open", help="give a drained pool its ceiling back")
        stop = actions.add_parser("stop", help="drain it, and ask what runs to stop; what waits stays waiting")
        stop.add_argument("--reason", default="")
        delete = actions.add_parser("delete", help="a pool that nobody uses")
        for action in (change, drain, opened, stop, delete):
            which = action.add_mutually_exclusive_group(required=True)
            which.add_argument("pool", nargs="?", default=argparse.SUPPRESS, help="its name")
            which.add_argument("--id", dest="pool", type=int, default=argparse.SUPPRESS, metavar="ID", help="its id")
        for action in (listing, create, change, drain, opened, stop, delete):
            add_json(action)

    def handle(self, *, action: str, as_json: bool, **options: Any) -> None:
        match action:
            case "list":
                rows = [_row(pool) for pool in service.list_pools(options["limit"])]
                self.records(("id", "name", "ceiling", "in flight", "waiting", "default"), rows, as_json=as_json)
            case "create":
                name, ceiling, default = options["pool"], options["max"], options["default"]
                created = service.create_pool(name, max_concurrent=ceiling, is_default=default)
                self._tell(created, "is created", as_json)
            case "change":
                self._tell(service.update_pool(options["pool"], **_changes(options)), "is changed", as_json)
            case "drain":
                self._tell_drained(service.drain_pool(options["pool"]), as_json)
            case "open":
                self._tell(service.open_pool(options["pool"]), "is open", as_json)
            case "stop":
                asked = service.stop_pool(options["pool"], reason=options["reason"], actor=operator())
                self._tell_drained(service.find_pool(options["pool"]), as_json, asked=asked)
            case "delete":
                service.delete_pool(options["pool"])
                self.told(f"pool {options['pool']} is deleted", {"deleted": options["pool"]}, as_json=as_json)

    def _tell_drained(self, pool: Pool, as_json: bool, **asked: int) -> None:
        counted = service.pool_counts(pool).get(pool.pk)
        running, waiting = (counted.in_flight, counted.waiting) if counted else (0, 0)
        facts = {"id": pool.pk, "name": pool.name, "ceiling": pool.max_concurrent, "drained_from": pool.drained_from}
        stopped = f", {asked['asked']} were asked to stop" if asked else ""
        line = f"pool {pool.name} lets nothing start: {running} still run{stopped}, {waiting} wait"
        self.told(line, facts | {"running": running, "waiting": waiting} | asked, as_json=as_json)

    def _tell(self, pool: Pool, done: str, as_json: bool) -> None:
        facts = {
            "id": pool.pk,
            "name": pool.name,
            "ceiling": pool.max_concurrent,
            "default": bool(pool.is_default),
        }
        default = ", and the default pool" if pool.is_default else ""
        line = f"pool {pool.name} {done}: at most {pool.max_concurrent} in flight{default}"
        self.told(line, facts, as_json=as_json)


def _row(pool: Pool) -> tuple[Any, ...]:
    return pool.pk, pool.name, pool.max_concurrent, pool.in_flight, pool.waiting, bool(pool.is_default)


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    given = {"name": options["name"], "max_concurrent": options["max"], "is_default": options["default"]}
    changes = {field: value for field, value in given.items() if value is not None}
    if not changes:
        raise CommandError("nothing to change: give --name, --max, --default or --no-default")
    return changes
