"""Exporting routines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import DECLARED_IN_DATABASE, Pool, Routine
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_routine
from routines_app.verbs.checking.selecting import LABEL, tagged
from routines_app.verbs.exports.entries import besides, entry_of, entry_of_pool, section_of
from routines_app.verbs.exports.fields import FORMAT, POOLS, ROTATIONS, ROUTINES
from routines_app.verbs.exports.references import Hider, tell_apart
from routines_app.verbs.rotations.finding import by_id, by_name, refs_of

BATCH = 1_000
RELATED = ("pool", "parent", "rotation__routine", "rotates")


def export_routines(
    routines: QuerySet[Routine] | Iterable[RoutineRef] | RoutineRef | None = None,
    *,
    tag: str | None = None,
    archived: bool = False,
    declared: bool = False,
) -> dict[str, Any]:
    """What people have decided about routines, rotations and pools, as plain data; `render_export` makes a file of it.

    Without `routines` these are all, or those with the `tag`, but for archived ones and those that are declared in
    code, which `archived` and `declared` ask for; and all pools. An archived parent or rotation of one of all comes
    along: without it they could not be imported elsewhere. Whoever names some gets these, and the pools that they
    name. Entries are by name, and hold what differs from the defaults. Secrets are not in there: `{"$secret": …}` names
    the variable that an import takes one from.
    """
    everything = routines is None and tag is None
    chosen = _chosen(routines, tag, archived=archived, declared=declared)
    found = [routine for batch in _batches(chosen) for routine in batch]
    if everything and not archived:
        found += _archived_targets(found)
    hiders: list[Hider] = []
    now = clock.now()
    sections: dict[str, dict[str, Any]] = {ROTATIONS: {}, ROUTINES: {}}
    for routine in sorted(found, key=lambda each: each.name):
        hider = Hider(routine.name)
        hiders.append(hider)
        sections[section_of(routine)][routine.name] = _whole_entry(routine, hider, now)
    tell_apart(hiders)
    pools = _pools(None if everything else {routine.pool_id for routine in found})
    return {"format": FORMAT} | {name: section for name, section in ({POOLS: pools} | sections).items() if section}


def _whole_entry(routine: Routine, hider: Hider, now: datetime) -> dict[str, Any]:
    rotation = getattr(routine, "rotates", None) if section_of(routine) == ROTATIONS else None
    return entry_of(routine, rotation, hider) | besides(routine, hider, now)


def _chosen(routines: Any, tag: str | None, *, archived: bool, declared: bool) -> QuerySet[Routine] | list[int]:
    if routines is not None and tag is not None:
        raise InvalidValue("tag", tag, said("give routines or a tag, not both"))
    if routines is not None and not isinstance(routines, QuerySet):
        return _named(routines)
    if routines is not None:
        return list(routines.order_by("pk").values_list("pk", flat=True))
    every = Routine.objects.using(ledger_alias())
    every = every if archived else every.exclude(status=RoutineStatus.ARCHIVED)
    every = every if declared else every.filter(declared_in=DECLARED_IN_DATABASE)
    return every if tag is None else tagged(every, LABEL("tag", tag))


def _named(routines: Any) -> list[int]:
    """Whoever names a routine wants it, archived or not."""
    if isinstance(routines, str | int | Routine):
        return [find_routine(routines, field="routines").pk]
    refs = refs_of(routines, "routines")
    names = by_name([ref for ref in refs if isinstance(ref, str)])
    ids = by_id([ref for ref in refs if isinstance(ref, int)])
    found = set()
    for ref in refs:
        there = names.get(ref) if isinstance(ref, str) else ids.get(ref)
        # Found otherwise, or refused with names that may have been meant.
        found.add(find_routine(ref, field="routines").pk if there is None else there.id)
    return sorted(found)


def _archived_targets(found: list[Routine]) -> list[Routine]:
    """Parents and rotations that were left out because they are archived, and those of theirs, a level at a time."""
    known, level, targets = {routine.pk for routine in found}, found, []
    while level:
        named = (each for routine in level for each in (routine.parent_id, routine.rotation_id))
        ids = {each for each in named if each is not None} - known
        read = [routine for batch in _batches(sorted(ids)) for routine in batch]
        level = [each for each in read if each.status == RoutineStatus.ARCHIVED and not each.is_declared_in_code]
        known |= ids
        targets += level
    return targets


def _batches(chosen: QuerySet[Routine] | list[int]) -> Iterable[list[Routine]]:
    """Read by their ids, so many at a time: an instance is some kilobytes while it is read."""
    ids = list(chosen.order_by("pk").values_list("pk", flat=True)) if isinstance(chosen, QuerySet) else chosen
    routines = Routine.objects.using(ledger_alias()).select_related(*RELATED)
    for begin in range(0, len(ids), BATCH):
        yield list(routines.filter(pk__in=ids[begin : begin + BATCH]))


def _pools(ids: set[int | None] | None) -> dict[str, Any]:
    pools = Pool.objects.using(ledger_alias())
    found = pools.all() if ids is None else pools.filter(pk__in=[each for each in ids if each is not None])
    return {pool.name: entry_of_pool(pool) for pool in sorted(found, key=lambda each: each.name)}
