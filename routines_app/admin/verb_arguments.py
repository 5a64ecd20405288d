"""Running a routine once with arguments that a page has shown: its own, or those of one of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from routines_app import service
from routines_app.admin.restoring import DESTINATION, PARTS, STALE, changed_arguments
from routines_app.core.said import Said
from routines_app.models import Routine, RoutineRun


def run_like(routine: Routine, run_id: UUID | None) -> RoutineRun | None:
    """The run of this routine that the new one should be like."""
    return RoutineRun.objects.filter(pk=run_id, routine_id=routine.pk).first() if run_id else None


def arguments_like(routine: Routine, run: RoutineRun | None) -> dict[str, Any]:
    """The routine's arguments, or those that the run had."""
    own = {part: getattr(run, part, None) for part in PARTS}
    return {part: getattr(routine, part) if own[part] is None else own[part] for part in PARTS}


def asked_run(routine: Routine, wants: Mapping[str, Any], actor: str) -> RoutineRun:
    """Ask for the run. A part of the arguments that was left empty is the routine's own."""
    asked: dict[str, Any] = {"idempotency_key": wants.get("idempotency_key"), "requested_by": actor}
    given = {part: wants[part] for part in PARTS if part in wants}
    again = run_like(routine, wants.get("like"))
    if not given:
        return service.run_now(routine, **asked, like=again)
    like = again if len(given) == len(PARTS) else None
    elsewhere = _other_changes(routine, like, wants.get("read_version"))
    found = changed_arguments(given, arguments_like(routine, like), elsewhere)
    if found is not None:
        return service.run_now(routine, **found, **asked, like=again)
    # What is stored is read by the service, behind its lock: nobody can put another task in between.
    return service.run_now(routine, **asked, like=again) if like is None else service.retry_run(like, **asked)


def _other_changes(routine: Routine, like: RoutineRun | None, read_version: int | None) -> list[Said]:
    """What else may take the arguments elsewhere than the page that showed them said."""
    then = routine if like is None else like
    changed = [said for name, said in DESTINATION.items() if getattr(then, name) != getattr(routine, name)]
    return changed if read_version == routine.version else [*changed, STALE]
