"""The plan of moving over, as lines for people and as facts for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from routines_app import service
from routines_app.management.subcommand import shown
from routines_app.service import MoveAct

# What of a new routine is worth a line, as `create_routine` calls it: all that is not the same for each of them.
TOLD = {
    **{name: name for name in ("task", "args", "kwargs", "cron")},
    "interval_ms": "every",
    "once_at": "at",
    "timezone": "timezone",
    "start_at": "start_at",
    "end_at": "end_at",
    **{name: name for name in ("queue", "options", "expires_ms", "timeout_ms", "catch_up_window_ms")},
}
EMPTY: tuple[object, ...] = (None, "", [], {}, 0)
DONE = {
    MoveAct.CREATE: "created",
    MoveAct.THERE: "already there",
    MoveAct.BEATS: "left to the beats",
    MoveAct.OVER: "over",
    MoveAct.REFUSE: "refused",
}
SAME_FOR_ALL = (
    "Each has one attempt, as Celery runs it: the task's own retries and limits hold. What is overdue is sent once"
    " (catch_up_policy LAST)."
)
STOP_FIRST = "Without --shadow its beats have to be stopped before: what they still send would be sent twice."


def as_lines(plan: service.MovePlan, *, is_dry: bool) -> Iterator[str]:
    """A paragraph for each entry; a summary comes last."""
    for move in plan.moves:
        yield from _lines(move)
    made = plan.count(MoveAct.CREATE)
    if made and is_dry:
        yield SAME_FOR_ALL
        if not plan.shadow:
            yield STOP_FIRST
    counts = ", ".join(f"{plan.count(act)} {word}" for act, word in DONE.items() if plan.count(act))
    shadow = " (in shadow)" if plan.shadow and made else ""
    yield f"{'Nothing is written: ' if is_dry else ''}{plan.scheduler}: {counts or 'no entries'}{shadow}"


def as_facts(plan: service.MovePlan, *, is_dry: bool) -> dict[str, Any]:
    return {
        "source": plan.scheduler.value,
        "dry_run": is_dry,
        "shadow": plan.shadow,
        "exact": plan.is_exact,
        "counts": {act.value: plan.count(act) for act in MoveAct},
        "entries": [_facts(move) for move in plan.moves],
    }


def _lines(move: service.Move) -> Iterator[str]:
    yield f"{move.act}  {_printable(move.key)}{f': {_printable(move.why)}' if move.why else ''}"
    for name, called in TOLD.items():
        value = move.fields.get(name)
        if value not in EMPTY and (name != "timezone" or move.fields.get("cron")):
            yield f"    {called}: {_value(name, value)}"
    if move.paused:
        yield f"    paused: {move.paused}"
    if move.overdue_since is not None:
        yield f"    overdue since {shown(move.overdue_since)}: sent at once"
    for note in move.changed:
        yield f"    changed: {_printable(note)}"
    for note in move.cannot:
        yield f"    cannot be carried: {_printable(note)}"
    if move.comparison is not None:
        yield from _compared(move.comparison)


def _compared(found: service.Comparison) -> Iterator[str]:
    if not found.differences:
        if found.compared:
            which = f"the next {found.compared} are the same, from" if found.compared > 1 else "the same one, at"
            yield f"    fires: {which} {shown(found.first)}"
        return
    yield f"    fires: of the next {found.compared} these differ:"
    rows = [("OLD", "OURS", "REASON"), *((_at(row.old), _at(row.ours), row.reason) for row in found.differences)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for old, ours, reason in rows:
        yield f"      {old.ljust(widths[0])}  {ours.ljust(widths[1])}  {reason}"


def _at(moment: datetime | None) -> str:
    return (
        "-"
        if moment is None
        else moment.isoformat(sep=" ", timespec="milliseconds" if moment.microsecond else "seconds")
    )


def _value(name: str, value: Any) -> str:
    if name.endswith("_ms"):
        return service.format_duration(value)
    return _printable(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _printable(text: str) -> str:
    """With escapes where a terminal would obey it."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _facts(move: service.Move) -> dict[str, Any]:
    found = move.comparison
    return {
        "key": move.key,
        "act": move.act.value,
        "why": move.why,
        "routine_id": move.routine_id,
        "fields": dict(move.fields),
        "paused": move.paused,
        "overdue_since": _stamp(move.overdue_since),
        "changed": list(move.changed),
        "cannot": list(move.cannot),
        "compared": 0 if found is None else found.compared,
        "first_fire": None if found is None else _stamp(found.first),
        "differences": []
        if found is None
        else [{"old": _stamp(row.old), "ours": _stamp(row.ours), "reason": row.reason} for row in found.differences],
    }


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
