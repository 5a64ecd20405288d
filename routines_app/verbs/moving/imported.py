"""The entries of `beat_schedule`: what the beats make of them by themselves, and how that compares."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from celery.app import app_or_default

from routines_app.conf import get_settings
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.changes import as_recorded
from routines_app.verbs.adopt import app_scope
from routines_app.verbs.checking.validation import clean_new
from routines_app.verbs.declarations import Found
from routines_app.verbs.declare import spelled
from routines_app.verbs.moving.beat_schedule import read_beat_schedule
from routines_app.verbs.moving.comparing import compare
from routines_app.verbs.moving.drafting import Wish, new_trigger
from routines_app.verbs.moving.move_values import Move, MoveAct, MovePlan
from routines_app.verbs.moving.old_entries import OldEntry, Read
from routines_app.verbs.moving.old_fires import old_fires
from routines_app.verbs.moving.problems import told

WHEN_THEY_START = "our beats make it when they start"
SWITCHED_OFF = "ROUTINES['IMPORT_BEAT_SCHEDULE'] is False: our beats leave it alone; set it to True"


def plan_imported(read: Read, wish: Wish, now: datetime) -> MovePlan:
    """What each becomes, or has become, without a second routine beside the beats' own."""
    app = app_or_default()
    found, scope = read_beat_schedule(app), app_scope(app)
    own = dict(Routine.objects.using(ledger_alias()).filter(declared_in=scope).values_list("name", "pk"))
    moves = [Move(key=each.key, act=MoveAct.REFUSE, why=each.why) for each in read.problems]
    for entry in read.entries:
        made = next((own[name] for name in spelled([entry.key], scope) if name in own), None)
        move = _move(entry, found, now)
        moves.append(move if made is None else replace(move, act=MoveAct.THERE, why="", routine_id=made))
    return MovePlan(scheduler=wish.scheduler, moves=tuple(sorted(moves, key=lambda move: move.key)))


def _move(entry: OldEntry, found: Found, now: datetime) -> Move:
    if entry.key in found.refused:
        return Move(key=entry.key, act=MoveAct.REFUSE, why=found.refused[entry.key])
    if not get_settings().import_beat_schedule:
        return Move(key=entry.key, act=MoveAct.REFUSE, why=SWITCHED_OFF)
    try:
        cleaned = clean_new(found.fields[entry.key] | {"name": entry.key}, allow_unknown_task=True)
        comparison = compare(entry, old_fires(entry, now), new_trigger(cleaned, now), now)
    except Exception as error:  # noqa: BLE001 - as in the other drafts
        return Move(key=entry.key, act=MoveAct.REFUSE, why=told(error))
    return Move(
        key=entry.key,
        act=MoveAct.BEATS,
        why=WHEN_THEY_START,
        fields=as_recorded(cleaned),
        cannot=tuple(found.left_out.get(entry.key, ())),
        comparison=comparison,
    )
