"""The options of the subcommands that act on runs: one by its id, or all that a filter means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from routines_app import service
from routines_app.management.subcommand import Subcommand, add_json, add_pool
from routines_app.management.telling import Telling

AT_ONCE = 100
WORDS = ("status", "trigger", "run_reason", "queue", "worker", "task", "error")


def add_runs(parser: CommandParser) -> None:
    """The option `run`, and those that `filter_of` reads."""
    parser.add_argument("run", nargs="?", help="the run's id; or leave it out, and say which runs are meant")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--routine", metavar="NAME", help="all runs of a routine")
    which.add_argument("--id", dest="routine", type=int, metavar="ID", help="the same, by its id")
    parser.add_argument("--status", help="PENDING, RUNNING, FAILED, …")
    parser.add_argument("--trigger", help="schedule, manual, retry, …")
    parser.add_argument("--run-reason", metavar="CODE", help="why a run is in its state: timeout, worker_lost, …")
    add_pool(parser, "all runs that a pool counts, by its name")
    for name in ("queue", "worker", "task"):
        parser.add_argument(f"--{name}", help=f"all runs of a {name}")
    parser.add_argument("--error", metavar="KIND", help="failures of a kind, as the admin's page of errors tells them")
    parser.add_argument("--since", metavar="TIME", help='made since then: "2h ago", "03:00 yesterday", 2026-11-17')
    parser.add_argument("--until", metavar="TIME", help="made before then")
    parser.add_argument("--dry-run", action="store_true", help="only count them")
    add_json(parser)


def is_one(run: str | None, options: Mapping[str, Any]) -> bool:
    """Whether one run is meant, by its id."""
    others = [name for name in ("routine", "pool", *WORDS, "since", "until", "dry_run") if options[name]]
    if run is not None and others:
        raise CommandError(f"give a run's id, or say which runs are meant by --{others[0].replace('_', '-')}: not both")
    return run is not None


def filter_of(options: Mapping[str, Any]) -> service.RunSelection:
    """Which runs are meant; refused where that would be every run."""
    said = {name.removeprefix("run_"): options[name] for name in ("routine", "pool", *WORDS)}
    times = {name: _moment(f"--{name}", options[name]) for name in ("since", "until")}
    meant = service.RunSelection.of(**said, **times)
    if meant.is_open:
        raise CommandError("give a run's id, or say which runs are meant: --status, --task, --since …")
    return meant


def _moment(option: str, text: str | None) -> Any:
    zone = timezone.get_current_timezone()
    return None if text is None else service.read_moment(option, text, now=service.now(), zone=zone)


def act_on_all(
    command: Subcommand,
    verb: service.ManyVerb,
    options: Mapping[str, Any],
    act: Callable[[tuple[UUID, ...]], service.ManyRuns],
) -> None:
    """Do it to all runs that the options mean, in pieces, and say how many were done and passed over."""
    meant, before = filter_of(options), service.oldest_run_id(service.now())
    if options["dry_run"]:
        found = service.count_for(verb, meant, before=before)
        line = f"{found.count} runs" + ("" if found.is_all else " or more")
        command.told(line, {"count": found.count, "is_all": found.is_all}, as_json=options["as_json"])
        return
    tally, telling = Counter[str](), Telling("runs")
    piece = service.piece_for(verb, meant, before=before, limit=AT_ONCE)
    while piece.runs or piece.before:
        made = act(piece.runs)
        tally += Counter(done=len(made.done)) + Counter(why.value for _, why, _ in made.passed_over)
        telling(tally.total())
        if piece.before is None:
            break
        piece = service.piece_for(verb, meant, before=piece.before, limit=AT_ONCE)
    done = tally.pop("done", 0)
    over = ", ".join(f"{number} {why}" for why, number in sorted(tally.items()))
    line = f"{done} runs done" + (f"; passed over: {over}" if over else "")
    command.told(line, {"done": done, "passed_over": dict(tally)}, as_json=options["as_json"])
