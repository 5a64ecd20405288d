"""What a run waited for, as sentences: of a wait that is over, and of one that lasts.

`{other}` is the run that it waited behind, in brackets with a space before them, or nothing.
"""

from __future__ import annotations

from routines_app.core.said import Said, said
from routines_app.core.waits import BROKER_AWAY, OTHERS
from routines_app.core.words import Reason

WAITED: dict[str, Said] = {
    Reason.CEILING: said("It waited for room in pool {pool} from {since} to {until} ({length})"),
    Reason.OVERLAP: said("It waited behind another run of its routine{other} from {since} to {until} ({length})"),
    Reason.REPLACING: said("It waited for the run that it replaces to stop{other} from {since} to {until} ({length})"),
    Reason.OVERDUE: said(
        "It waited for a run whose body could not be stopped{other} from {since} to {until} ({length})"
    ),
    Reason.LEASE_HELD: said(
        "It waited because a worker found the routine's lease held by another run{other} from {since} to {until}"
        " ({length})"
    ),
    Reason.KEY_TAKEN: said(
        "It waited because a worker found another run of its routine running{other} from {since} to {until} ({length})"
    ),
    Reason.ROUTINE_HELD: said(
        "It waited because somebody held the routine's row, or its pool's, in the database from {since} to {until}"
        " ({length})"
    ),
    Reason.REDIS_AWAY: said(
        "It waited because workers could not reach Redis, where its lease is, from {since} to {until} ({length})"
    ),
    Reason.PUBLISH_FAILED: said("It waited because it could not be sent from {since} to {until} ({length})"),
    BROKER_AWAY: said(
        "It waited because beats could not reach the broker, or it took nothing, from {since} to {until} ({length})"
    ),
    Reason.PAUSED: said("It waited because its routine was paused from {since} to {until} ({length})"),
    Reason.PARKED: said("It waited because its routine was parked from {since} to {until} ({length})"),
    OTHERS: said("It waited for several things, one after another, from {since} to {until} ({length})"),
}
WAITED_PLAINLY = said("It waited ({reason}) from {since} to {until} ({length})")

WAITS: dict[str, Said] = {
    Reason.CEILING: said("It has waited for room in pool {pool} since {since}"),
    Reason.OVERLAP: said("It has waited behind another run of its routine{other} since {since}"),
    Reason.REPLACING: said("It has waited for the run that it replaces to stop{other} since {since}"),
    Reason.OVERDUE: said("It has waited for a run whose body could not be stopped{other} since {since}"),
    Reason.LEASE_HELD: said(
        "It has waited because a worker found the routine's lease held by another run{other} since {since}"
    ),
    Reason.KEY_TAKEN: said(
        "It has waited because a worker found another run of its routine running{other} since {since}"
    ),
    Reason.ROUTINE_HELD: said(
        "It has waited because somebody held the routine's row, or its pool's, in the database since {since}"
    ),
    Reason.REDIS_AWAY: said("It has waited because workers could not reach Redis, where its lease is, since {since}"),
    Reason.PUBLISH_FAILED: said("It has waited because it could not be sent since {since}"),
    BROKER_AWAY: said("It has waited because beats could not reach the broker, or it took nothing, since {since}"),
    Reason.PAUSED: said("It has waited because its routine was paused since {since}"),
    Reason.PARKED: said("It has waited because its routine was parked since {since}"),
    OTHERS: said("It has waited for several things, one after another, since {since}"),
}
WAITS_PLAINLY = said("It has waited ({reason}) since {since}")
