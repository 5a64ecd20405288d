"""The subcommands of `manage.py routines`, by name."""

from __future__ import annotations

from routines_app.management.subcommand import Subcommand
from routines_app.management.subcommands.acting import Archive, Cancel, Delete, Pause, Reset, Resume, Run
from routines_app.management.subcommands.audit import Audit
from routines_app.management.subcommands.looking import List, Nodes, Plan, Show
from routines_app.management.subcommands.upkeep import Prune, Replan

SUBCOMMANDS: dict[str, type[Subcommand]] = {
    "list": List,
    "show": Show,
    "plan": Plan,
    "nodes": Nodes,
    "run": Run,
    "pause": Pause,
    "resume": Resume,
    "archive": Archive,
    "delete": Delete,
    "reset": Reset,
    "cancel": Cancel,
    "audit": Audit,
    "replan": Replan,
    "prune": Prune,
}
