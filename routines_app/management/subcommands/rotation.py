"""`routines rotation`: rotations, their members and how they stand."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.rotation_options import add_changes, add_members, changes, given_members
from routines_app.management.subcommand import Subcommand, add_json, operator, shown
from routines_app.models import Rotation

ACTIONS = "list|status|create|update|pause|resume|archive|add|remove|touch|tick|seed"
COLUMNS = ("id", "name", "status", "members", "owed", "in flight", "fresh", "failing", "left out", "next tick")
PICKED = ("name", "phase", "stale", "failures", "why")


class Command(Subcommand):
    help = (
        "List, create, change and end rotations, add and remove members, let one tick or seed, and see how it stands."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar=ACTIONS)

        def action(name: str, words: str, *, one: bool = True) -> CommandParser:
            added = actions.add_parser(name, help=words)
            if one:
                _add_rotation(added)
            add_json(added)
            return added

        listing = action("list", "the rotations, and how many of their members are owed, in flight, fresh …", one=False)
        listing.add_argument("--limit", type=int, default=100)
        status = action("status", "how it stands, what is under way, and whom the next tick picks and why")
        status.add_argument("--picks", type=int, default=10, help="how many of them are shown (default: 10)")
        create = action("create", "a new rotation", one=False)
        create.add_argument("rotation", help="its name")
        add_changes(create)
        update = action("update", "its name, trigger, budget, freshness …")
        update.add_argument("--name", help="its new name")
        add_changes(update)
        pause = action("pause", "no ticks; members run by hand")
        pause.add_argument("--until", help="an ISO 8601 time (default: for good)")
        action("resume", "ticks again")
        archive = action("archive", "retire it for good; its members stay")
        archive.add_argument("--members", action="store_true", help="archive its members too")
        for name, words in (
            ("add", "members: names of routines, or of new ones of the rotation's own task"),
            ("remove", "members, by name: they stay, as routines that run by hand"),
            ("touch", "members, by name: they are owed now"),
        ):
            add_members(action(name, words, one=False), everybody=name == "touch")
        action("tick", "let it tick now, besides its schedule")
        action("seed", "call its callable here and now, and create the members that lack a routine")
        for each in (pause, archive):
            each.add_argument("--reason", default="", help="why; it is written into the history")

    def handle(self, *, action: str, as_json: bool, **options: Any) -> None:
        acts = {"list": self._list, "status": self._status, "create": self._create, "update": self._update}
        acts |= {"pause": self._pause, "resume": self._resume, "archive": self._archive}
        acts |= {"add": self._add, "remove": self._remove, "touch": self._touch, "tick": self._tick, "seed": self._seed}
        acts[action](as_json, options)

    def _list(self, as_json: bool, options: dict[str, Any]) -> None:
        rotations = service.list_rotations(options["limit"])
        counts = service.count_members(rotations)
        rows = [_row(rotation, counts[rotation.pk]) for rotation in rotations]
        self.records(COLUMNS, rows, as_json=as_json)

    def _status(self, as_json: bool, options: dict[str, Any]) -> None:
        status = service.rotation_status(options["rotation"], picks=options["picks"])
        if as_json:
            self.told("", _status_facts(status), as_json=True)
            return
        self.say(_headline(status))
        for title, picks in (("under way", status.under_way), ("next picks", status.next_picks)):
            if picks:
                self.say(f"\n{title}:")
                self.table(PICKED, [_pick_row(pick) for pick in picks])

    def _create(self, as_json: bool, options: dict[str, Any]) -> None:
        created = service.create_rotation(options["rotation"], actor=operator(), **changes(options))
        self._tell(created, "is created", as_json)

    def _update(self, as_json: bool, options: dict[str, Any]) -> None:
        given = changes(options) | ({} if options["name"] is None else {"name": options["name"]})
        if not given:
            raise CommandError("nothing to change: give --name, --every, --budget or another option")
        self._tell(service.update_rotation(options["rotation"], actor=operator(), **given), "is changed", as_json)

    def _pause(self, as_json: bool, options: dict[str, Any]) -> None:
        until = None if options["until"] is None else service.typed_moment("until", options["until"])
        paused = service.pause_rotation(options["rotation"], until=until, reason=options["reason"], actor=operator())
        self._tell(paused, "is paused", as_json)

    def _resume(self, as_json: bool, options: dict[str, Any]) -> None:
        self._tell(service.resume_rotation(options["rotation"], actor=operator()), "ticks again", as_json)

    def _archive(self, as_json: bool, options: dict[str, Any]) -> None:
        archived = service.archive_rotation(
            options["rotation"],
            members=options["members"],
            reason=options["reason"],
            actor=operator(),
            progress=self._progress(as_json, "members archived"),
        )
        self._tell(archived, "is archived", as_json)

    def _add(self, as_json: bool, options: dict[str, Any]) -> None:
        told, (rotation, members) = self._progress(as_json, "done"), given_members(options)
        added = service.add_members(rotation, members, actor=operator(), progress=told)
        line = f"{added.created} created, {added.joined} joined, {added.kept} were members already"
        self.told(line, asdict(added), as_json=as_json)

    def _remove(self, as_json: bool, options: dict[str, Any]) -> None:
        told, (rotation, members) = self._progress(as_json, "done"), given_members(options)
        removed = service.remove_members(rotation, members, actor=operator(), progress=told)
        self.told(f"{removed} removed: they are routines that run by hand", {"removed": removed}, as_json=as_json)

    def _touch(self, as_json: bool, options: dict[str, Any]) -> None:
        rotation, members = given_members(options)
        touched = service.touch_members(rotation, members or None, actor=operator())
        self.told(f"{touched} are owed now that were not", {"touched": touched}, as_json=as_json)

    def _tick(self, as_json: bool, options: dict[str, Any]) -> None:
        run = service.tick_rotation(options["rotation"], requested_by=operator())
        result = run.result if isinstance(run.result, dict) else {}
        picked = [each["name"] for each in result.get("picked", [])]
        facts = {"run": run.pk, "status": run.status, "reason": run.reason, "picked": picked}
        self.told(f"{run.reason or run.status}: {', '.join(picked) or 'nobody'}", facts, as_json=as_json)

    def _seed(self, as_json: bool, options: dict[str, Any]) -> None:
        told = self._progress(as_json, "done")
        seeded = service.seed_rotation(options["rotation"], actor=operator(), progress=told)
        line = f"{seeded.created} created, {seeded.kept} kept, {seeded.vanished} vanished, {seeded.archived} archived"
        line += f", {seeded.revived} back" if seeded.revived else ""
        self.told(line + (f" ({seeded.note})" if seeded.note else ""), asdict(seeded), as_json=as_json)

    def _progress(self, as_json: bool, what: str) -> Callable[[int], None] | None:
        return None if as_json else lambda done: self.say(f"{done} {what}")

    def _tell(self, rotation: Rotation, done: str, as_json: bool) -> None:
        line = (
            f"rotation {rotation.name} {done}: at most {rotation.budget} at a tick, {rotation.max_in_flight} in flight"
        )
        self.told(line, _facts(rotation), as_json=as_json)


def _add_rotation(parser: CommandParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("rotation", nargs="?", default=argparse.SUPPRESS, help="its name")
    which.add_argument("--id", dest="rotation", type=int, default=argparse.SUPPRESS, metavar="ID", help="its id")


def _facts(rotation: Rotation) -> dict[str, Any]:
    return {
        "id": rotation.pk,
        "name": rotation.name,
        "status": rotation.routine.status,
        "budget": rotation.budget,
        "max_in_flight": rotation.max_in_flight,
        "fresh_for": service.format_duration(rotation.fresh_for_ms),
        "depth_weight": rotation.depth_weight,
        "task": rotation.member_task,
        "phases": [phase["name"] for phase in rotation.phases],
        "seed": rotation.seed,
        "archive_vanished": rotation.archive_vanished,
    }


def _row(rotation: Rotation, tally: service.Tally) -> tuple[Any, ...]:
    counts = (tally.members, tally.owed, tally.in_flight, tally.fresh, tally.failing, tally.left_out)
    return rotation.pk, rotation.name, rotation.routine.status, *counts, service.next_tick_at(rotation)


def _headline(status: service.RotationStatus) -> str:
    rotation = status.rotation
    counts = f"{_many(status.members)}: {status.owed} owed, {status.in_flight} in flight, {status.fresh} fresh"
    counts += f", {status.failing} failing, {status.left_out} left out"
    lines = [f"{rotation.name} ({rotation.routine.status}), at most {rotation.budget} at a tick", counts]
    if status.stalest is not None:
        lines.append(f"stalest {status.stalest}, {_age(status.stalest_seconds)}; median {_age(status.median_seconds)}")
    idles = f", idle: {status.skip_ticks} ticks are left out before it looks again" if status.skip_ticks else ""
    lines.append(f"next tick {shown(status.next_tick_at)}{idles}")
    for name, run in (("last tick", status.last_tick), ("last seeding", status.last_seeding)):
        if run is not None:
            lines.append(f"{name} {shown(run.scheduled_for)}: {run.status}{f' ({run.reason})' if run.reason else ''}")
    return "\n".join(lines)


def _many(members: int) -> str:
    return "1 member" if members == 1 else f"{members} members"


def _status_facts(status: service.RotationStatus) -> dict[str, Any]:
    facts = {name: getattr(status, name) for name in status.__slots__ if name not in ("rotation", "under_way")}
    for name in ("last_tick", "last_seeding"):
        run = facts[name]
        facts[name] = run and {"run": run.pk, "status": run.status, "reason": run.reason, "at": run.scheduled_for}
    facts["under_way"] = [asdict(pick) for pick in status.under_way]
    facts["next_picks"] = [asdict(pick) for pick in status.next_picks]
    return {"rotation": _facts(status.rotation)} | facts


def _pick_row(pick: service.Pick) -> tuple[Any, ...]:
    phase = f"{pick.phase} ({pick.phase_number + 1}/{pick.phases})" if pick.phase else "-"
    return pick.name, phase, _age(pick.stale_seconds), pick.failures, pick.why


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else service.format_duration(round(seconds) * 1_000)
