"""Drafting an import: what would be done, and all that is wrong. Nothing is written."""

from __future__ import annotations

from typing import Any, NamedTuple

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from routines_app.verbs.exports.document import Document, read_document
from routines_app.verbs.exports.drafts import Changed, Draft, New, Options
from routines_app.verbs.exports.entries import section_of
from routines_app.verbs.exports.fields import KINDS, POOLS, ROTATIONS, ROUTINES
from routines_app.verbs.exports.import_words import ImportAction
from routines_app.verbs.exports.ledger import Ledger, read_ledger
from routines_app.verbs.exports.plan_values import ImportPlan, PlannedEntry, Problems
from routines_app.verbs.exports.pools import draft_pools
from routines_app.verbs.exports.references_to import targets_of
from routines_app.verbs.exports.routines import Drafter
from routines_app.verbs.exports.tree import depths_of
from routines_app.verbs.exports.wanted import Wanted, read_entry
from routines_app.verbs.rotations.same_names import alike_names


def draft_import(data: Any, options: Options) -> Draft:
    problems, now = Problems(), clock.now()
    document = read_document(data, problems)
    ledger = read_ledger(document, missing=options.archive_missing)
    pools = draft_pools(document.get(POOLS, {}), ledger.pools, problems)
    wanted = _read_entries(document, ledger, options, problems)
    drafter = Drafter(targets_of(document, ledger, pools.by_name), problems, now, options.allow_unknown_task)
    new, changed, planned = _decide(drafter, wanted, ledger)
    depths = depths_of(wanted, ledger.parents, problems)
    _refuse_alike(wanted, document, ledger, problems)
    gone, told = _missing(ledger, wanted, problems)
    entries = (*pools.planned, *planned, *told)
    return Draft(
        plan=ImportPlan(entries=entries, problems=tuple(problems.found)),
        new_pools=pools.new,
        changed_pools=pools.changed,
        new=new,
        changed=[*changed, *gone],
        depths=depths,
    )


def _read_entries(document: Document, ledger: Ledger, options: Options, problems: Problems) -> list[Wanted]:
    return [
        read_entry(section, name, document[section][name], ledger.routines.get(name), options.secrets, problems)
        for section in (ROTATIONS, ROUTINES)
        for name in sorted(document.get(section, {}))
    ]


def _decide(
    drafter: Drafter, wanted: list[Wanted], ledger: Ledger
) -> tuple[list[New], list[Changed], list[PlannedEntry]]:
    new, changed, planned = [], [], []
    for each in wanted:
        with drafter.problems.of(each.section, each.name):
            stored, found = ledger.routines.get(each.name), drafter.targets.found(each, drafter.problems)
            if not each.is_whole:
                drafter.note_all(each)
                continue
            if stored is None:
                made, told = drafter.new(each, found)
                new.append(made)
            else:
                differs, told = drafter.changed(each, stored, found)
                changed += [differs] if differs is not None else []
            planned.append(told)
    return new, changed, planned


class _Placed(NamedTuple):
    place: str
    name: str


def _refuse_alike(wanted: list[Wanted], document: Document, ledger: Ledger, problems: Problems) -> None:
    """What MariaDB and MySQL take for one name, as they compare them."""
    new = [_Placed(f"{each.section}[{each.name}]", each.name) for each in wanted if each.name not in ledger.routines]
    pools = [_Placed(f"{POOLS}[{name}]", name) for name in sorted(document.get(POOLS, {})) if name not in ledger.pools]
    problems.found += [*alike_names(pools, ledger.pools), *alike_names(new, ledger.routines)]


def _missing(ledger: Ledger, wanted: list[Wanted], problems: Problems) -> tuple[list[Changed], list[PlannedEntry]]:
    """What is archived because no entry names it."""
    rotations = {each.said("rotation"): each for each in wanted if each.said("rotation") is not None}
    gone = []
    for routine in ledger.missing:
        if routine.name in rotations:
            member = rotations[routine.name]
            expected = said("no entry is about this rotation, so it would be archived: give it one")
            problems.add(NotAllowed("rotation", routine.name, expected), member.section, member.name)
        gone.append(routine)
    return [Changed(routine=each, changes={}, archived=True) for each in gone], [_archive(each) for each in gone]


def _archive(routine: Routine) -> PlannedEntry:
    return PlannedEntry(kind=KINDS[section_of(routine)], name=routine.name, action=ImportAction.ARCHIVE)
