"""The plan of an import, as a diff for people and as facts for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from routines_app import service
from routines_app.service import ImportAction

SIGNS = {ImportAction.CREATE: "+", ImportAction.CHANGE: "~", ImportAction.ARCHIVE: "-"}


def as_lines(plan: service.ImportPlan) -> Iterator[str]:
    """`+` is created, `~` changed, `-` archived; a summary comes last."""
    for entry in plan.entries:
        if entry.action is ImportAction.UNCHANGED:
            continue
        archived = " (archived)" if entry.action is ImportAction.ARCHIVE else ""
        yield f"{SIGNS[entry.action]} {entry.kind} {entry.name}{archived}"
        for change in entry.changes:
            yield f"    {change.field}: {_change(entry, change)}"
    counts = [f"{plan.count(action)} to {action}" for action in SIGNS]
    yield f"{', '.join(counts)}, {plan.count(ImportAction.UNCHANGED)} unchanged"


def as_facts(plan: service.ImportPlan) -> dict[str, Any]:
    return {
        "digest": plan.digest,
        "counts": {action.value: plan.count(action) for action in ImportAction},
        "entries": [_facts(entry) for entry in plan.entries if entry.action is not ImportAction.UNCHANGED],
        "problems": [{"field": problem.field, "problem": str(problem)} for problem in plan.problems],
    }


def _facts(entry: service.PlannedEntry) -> dict[str, Any]:
    changes = {change.field: {"from": change.before, "to": change.after} for change in entry.changes}
    return {"kind": entry.kind, "name": entry.name, "action": entry.action.value, "changes": changes}


def _change(entry: service.PlannedEntry, change: service.FieldChange) -> str:
    if entry.action is ImportAction.CREATE:
        return _shown(change.after)
    return f"{_shown(change.before)} → {_shown(change.after)}"


def _shown(value: Any) -> str:
    """Text as it is, if it is one line; everything else as JSON, with escapes where a terminal would obey it."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)
