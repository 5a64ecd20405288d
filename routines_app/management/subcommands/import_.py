"""`routines import`: bring an export in, all of it or nothing, after it was shown what would be done."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from routines_app import service
from routines_app.management.import_plan import as_facts, as_lines
from routines_app.management.subcommand import Subcommand, add_json, operator
from routines_app.management.telling import Telling

BYTES_PER_CHARACTER = 4
INPUT = "-"


class Command(Subcommand):
    help = (
        "Import routines, rotations and pools from a file that `export` wrote: shows what would be done, asks, and "
        "does all of it or nothing. What is not in the file is left alone."
    )

    @classmethod
    def add_arguments(cls, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the file; - is the standard input")
        parser.add_argument("--format", choices=list(service.FileFormat), help="default: by its ending and beginning")
        parser.add_argument("--dry-run", action="store_true", help="show the plan, write nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--archive-missing", action="store_true", help="archive routines that are not in the file")
        parser.add_argument("--allow-unknown-task", action="store_true", help="take tasks that only workers know")
        parser.add_argument("--reason", help="why, for the history (default: the name of the file)")
        add_json(parser)

    def handle(self, *, file: str, as_json: bool, dry_run: bool, yes: bool, **options: Any) -> None:
        if (as_json or file == INPUT) and not (yes or dry_run):
            raise CommandError(f"with {'--json' if as_json else INPUT} nobody can be asked: give --yes or --dry-run")
        data = service.read_export(_text(file), options["format"] or _format_of(file))
        how = {name: options[name] for name in ("archive_missing", "allow_unknown_task")}
        plan = service.plan_import(data, **how)
        self._show(plan, as_json)
        if plan.problems:
            raise service.ImportRefused(plan.problems)
        if dry_run or plan.is_idle or not (yes or self._agrees()):
            return
        reason = options["reason"] if options["reason"] is not None else f"imported from {Path(file).name}"
        done = service.import_routines(
            data, actor=operator(), reason=reason, digest=plan.digest, progress=Telling("routines"), **how
        )
        if not as_json:
            self.say(f"imported: {_counted(done)}")

    def _show(self, plan: service.ImportPlan, as_json: bool) -> None:
        if as_json:
            self.say(json.dumps(as_facts(plan), indent=2, ensure_ascii=False))
            return
        for line in as_lines(plan):
            self.say(line)

    def _agrees(self) -> bool:
        sys.stderr.write("Do this? [y/N] ")
        sys.stderr.flush()
        agrees = sys.stdin.readline().strip().lower() in ("y", "yes")
        if not agrees:
            self.say("nothing is imported")
        return agrees


def _text(file: str) -> str:
    """No more of it than is ever accepted: the reader says what is too much."""
    most = service.LONGEST_EXPORT * BYTES_PER_CHARACTER
    try:
        if file == INPUT:
            return sys.stdin.read(service.LONGEST_EXPORT + 1)
        with open(file, "rb") as opened:
            content = opened.read(most + 1)
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def _format_of(file: str) -> str | None:
    ending = Path(file).suffix.lower()
    return {".json": service.FileFormat.JSON, ".yaml": service.FileFormat.YAML, ".yml": service.FileFormat.YAML}.get(
        ending
    )


def _counted(plan: service.ImportPlan) -> str:
    actions = service.ImportAction
    words = {actions.CREATE: "created", actions.CHANGE: "changed", actions.ARCHIVE: "archived"}
    return ", ".join(f"{plan.count(action)} {word}" for action, word in words.items())
