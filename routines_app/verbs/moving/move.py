"""Moving over: routines for the entries of another scheduler, all of them in one transaction.

What cannot be carried stays where it is, and so does, unless that is accepted, what would fire at other moments.
Nothing of the old scheduler is changed here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from celery.app import app_or_default

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.models import MovedEntry
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.verbs.exports.creating import create_all
from routines_app.verbs.exports.drafts import Draft, New
from routines_app.verbs.exports.plan_values import ImportPlan
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.moving.drafting import Drafted, Wish, chosen, draft_moves
from routines_app.verbs.moving.imported import plan_imported
from routines_app.verbs.moving.move_values import Move, MovePlan
from routines_app.verbs.moving.old_entries import OldScheduler, Read
from routines_app.verbs.moving.reading import read_entries
from routines_app.verbs.rotations.finding import batches
from routines_app.verbs.rotations.writing import By, Progress, Told


def plan_move(
    source: OldScheduler | str,
    *,
    only: Collection[str] = (),
    shadow: bool = False,
    accept_differences: bool = False,
) -> MovePlan:
    """What `move_over` would do: what each entry becomes, what cannot be carried, and how its next 50 fires compare
    with the old scheduler's own computation. Nothing is written."""
    wish = _wish(source, only, shadow, accept_differences)
    read = chosen(read_entries(wish.scheduler), wish.only)
    if wish.scheduler is OldScheduler.BEAT_SCHEDULE:
        return plan_imported(read, wish, clock.now())
    return _plan(_drafted(read, wish, clock.now()), wish)


def move_over(
    source: OldScheduler | str,
    *,
    only: Collection[str] = (),
    shadow: bool = False,
    accept_differences: bool = False,
    actor: str = "",
    reason: str = "",
    progress: Told | None = None,
) -> MovePlan:
    """Create the routines of a plan, all of them or none, and tell what was done.

    With `shadow` they account for their slots and run nothing until `switch_over`. `only` are names of entries. An
    entry that was moved over before is left alone. Those of `beat_schedule` are made by the beats.
    """
    wish, by = _wish(source, only, shadow, accept_differences), By.checked(actor, reason or f"moved over from {source}")
    read = chosen(read_entries(wish.scheduler), wish.only)
    if wish.scheduler is OldScheduler.BEAT_SCHEDULE:
        return plan_imported(read, wish, clock.now())
    now = clock.now()
    drafted = _drafted(read, wish, now)
    # Comparing takes milliseconds for each: not while SQLite's only writer. A name that is taken meanwhile refuses all.
    with verb_transaction("source", wish.scheduler):
        _write([each.new for each in drafted if each.new is not None], wish, now, by, Progress(progress))
    return _plan(drafted, wish)


def _wish(source: OldScheduler | str, only: Collection[str], shadow: bool, accept_differences: bool) -> Wish:
    try:
        scheduler = OldScheduler(source)
    except ValueError:
        raise InvalidValue("source", source, said("give one of {these}", these=", ".join(OldScheduler))) from None
    if shadow and scheduler is OldScheduler.BEAT_SCHEDULE:
        expected = said("beats import its entries by themselves, and fire them")
        raise NotAllowed("shadow", scheduler, expected)
    return Wish(scheduler, [only] if isinstance(only, str) else only, shadow, accept_differences)


def _drafted(read: Read, wish: Wish, now: datetime) -> list[Drafted]:
    return draft_moves(read, wish, now, app_or_default())


def _plan(drafted: Sequence[Drafted], wish: Wish) -> MovePlan:
    return MovePlan(scheduler=wish.scheduler, moves=tuple(_told(each) for each in drafted), shadow=wish.shadow)


def _told(drafted: Drafted) -> Move:
    made = None if drafted.new is None else drafted.new.routine.pk
    return drafted.move if made is None else replace(drafted.move, routine_id=made)


def _write(new: Sequence[New], wish: Wish, now: datetime, by: By, told: Progress) -> None:
    """As of the draft's moment: a slot that has come since is due, and not passed over."""
    if not new:
        return
    depths = {each.routine.name: 0 for each in new}
    create_all(Draft(plan=ImportPlan(entries=()), new=list(new), depths=depths), now, by, told)
    moved = [
        MovedEntry(
            routine=each.routine,
            scheduler=wish.scheduler,
            key=each.routine.name,
            switched_at=None if wish.shadow else now,
            created_at=now,
        )
        for each in new
    ]
    for batch in batches(moved):
        MovedEntry.objects.using(ledger_alias()).bulk_create(batch)
    on_commit(wake_beats)
