"""How a rotation stands: what is owed, how stale it is, and whom the next tick picks and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet, Subquery, UUIDField, Value
from django.db.models.functions import Coalesce

from routines_app.core.durations import format_duration
from routines_app.core.rotation import NEVER, SEEDING
from routines_app.core.said import Said, said, said_of, together
from routines_app.core.words import MemberStatus, Priority, RoutineStatus
from routines_app.models import Rotation, RotationMember, RoutineRun
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.rotate.phases import Phase, number_of, phases_of
from routines_app.verbs.checking.lookup import RotationRef, find_rotation
from routines_app.verbs.checking.rules import Integer, moment
from routines_app.verbs.reading import LARGE_FIELDS
from routines_app.verbs.rotations.counting import counts_at_most, picks_at_most
from routines_app.verbs.rotations.values import Pick, RotationStatus

PICKS = Integer(least=0, most=1_000)
LOOKED_THROUGH = 200  # of its own runs, the newest first: seedings are between the ticks
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def rotation_status(
    rotation: RotationRef, *, picks: int = 10, now: datetime | None = None, max_age: float | None = None
) -> RotationStatus:
    """Counts, staleness, and up to `picks` of those under way and of those that come next. Nothing is written.

    Counts, staleness and who comes next, of a rotation with very many members, may be `max_age` seconds old, if that is
    given.
    """
    found, most = find_rotation(rotation), PICKS("picks", picks)
    at = clock.now() if now is None else moment("now", now)
    counts = asdict(counts_at_most(found.pk, at, max_age))
    del counts["stalest_id"]
    following = picks_at_most(found, most, at, max_age, counts["members"]) if most else []
    return RotationStatus(
        rotation=found,
        at=at,
        stalest=counts.pop("stalest_name"),
        **counts,
        idle_multiplier=found.idle_multiplier,
        skip_ticks=found.skip_ticks,
        next_tick_at=next_tick_at(found),
        last_tick=_own_runs(found).exclude(phase=SEEDING).defer(*LARGE_FIELDS, "progress").first(),
        last_seeding=_last_seeding(found),
        under_way=_under_way(found, most, at),
        next_picks=_next_picks(found, following, at, counts["owed"]),
    )


def next_tick_at(rotation: Rotation) -> datetime | None:
    """None: it is paused or archived, or ticks by hand alone."""
    routine = rotation.routine
    state = getattr(routine, "state", None)  # which a plain insert has left out
    return None if state is None or routine.status != RoutineStatus.ACTIVE else state.next_run_at


def _own_runs(rotation: Rotation) -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias()).filter(routine_id=rotation.pk).order_by("-id")


def _last_seeding(rotation: Rotation) -> RoutineRun | None:
    """With what it came to. Each tick that looks begins one, so that it is among the newest."""
    if not rotation.seed:
        return None
    place = _own_runs(rotation).values("pk")[LOOKED_THROUGH : LOOKED_THROUGH + 1]
    since = Coalesce(Subquery(place), Value(UUID(int=0), UUIDField()))
    runs = _own_runs(rotation).filter(phase=SEEDING, pk__gte=since)
    return runs.defer("args", "kwargs", "traceback", "progress").first()


def _under_way(rotation: Rotation, most: int, now: datetime) -> list[Pick]:
    """The oldest first: ids of runs carry their time."""
    in_flight = RotationMember.objects.using(ledger_alias()).filter(rotation=rotation, status=MemberStatus.IN_FLIGHT)
    return [
        _pick(rotation, member, now, _under_way_because(member, phases_of(rotation, member.routine)))
        for member in in_flight.select_related("routine").order_by("run")[:most]
    ]


def _under_way_because(member: RotationMember, phases: Sequence[Phase]) -> Said:
    name = phases[number_of(phases, member.phase)].name
    return said("{phase} is under way", phase=name) if name else said("it is under way")


def _next_picks(rotation: Rotation, found: Sequence[RotationMember], now: datetime, owed: int) -> list[Pick]:
    return [
        _pick(rotation, member, now, _why(rotation, member, place, max(owed, len(found)), now))
        for place, member in enumerate(found, start=1)
    ]


def _pick(rotation: Rotation, member: RotationMember, now: datetime, why: str) -> Pick:
    phases = phases_of(rotation, member.routine)
    number = number_of(phases, member.phase)
    return Pick(
        routine_id=member.pk,
        name=member.routine.name,
        phase=phases[number].name,
        phase_number=number,
        phases=len(phases),
        stale_seconds=max(0.0, (now - member.stale_since).total_seconds()),
        attempted_at=None if member.attempted_at <= NEVER else member.attempted_at,
        failures=member.failures,
        why=why,
        run_id=member.run,
    )


def _why(rotation: Rotation, member: RotationMember, place: int, owed: int, now: datetime) -> Said:
    """What ranks it there: a cycle that is under way, its band, then how long ago it was tried."""
    phases = phases_of(rotation, member.routine)
    number = number_of(phases, member.phase)
    if number > 0 and member.rank_phase > 0:
        return _under_way_until(phases[number - 1].name, phases[number].name, member.failures)
    why = [_tried(member, now)]
    if member.routine.priority != Priority.MEDIUM:
        why.insert(0, said("its priority is {priority}", priority=member.routine.priority))
    if member.failures:
        why.append(_failed(phases[number].name if number else "", member.failures))
    if rotation.depth_weight and member.depth and member.emphasis:
        why.append(said("at depth {depth} it counts as if it had waited longer", depth=member.depth))
    return together(", ", [*why, _place(place, owed)])


def _under_way_until(last: str, following: str, failures: int) -> Said:
    if not failures:
        return said("its cycle is under way: {following} comes after {last}", following=following, last=last)
    return said_of(
        failures,
        "its cycle is under way: {following} comes after {last}, and has failed once",
        "its cycle is under way: {following} comes after {last}, and has failed {count} times",
        following=following,
        last=last,
    )


def _failed(phase: str, failures: int) -> Said:
    if not phase:
        return said_of(
            failures, "failed once and has waited its ticks", "failed {count} times and has waited its ticks"
        )
    return said_of(
        failures,
        "{phase} failed once and has waited its ticks",
        "{phase} failed {count} times and has waited its ticks",
        phase=phase,
    )


def _tried(member: RotationMember, now: datetime) -> Said:
    if member.attempted_at <= NEVER:
        return said("never run")
    return said("last tried {length} ago", length=_ago(now - member.attempted_at))


def _ago(passed: object) -> str:
    """In two units at most: nobody reads seconds behind hours."""
    ms = max(0, int(passed.total_seconds() * 1_000))  # type: ignore[attr-defined]
    unit = HOUR if ms >= 48 * HOUR else MINUTE if ms >= HOUR else SECOND
    return format_duration(ms - ms % unit)


def _place(place: int, owed: int) -> Said:
    if owed == 1:
        return said("the only one that is owed")
    if place == 1:
        return said("the first of {owed:,} that are owed", owed=owed)
    return said("number {place} of {owed:,} that are owed", place=place, owed=owed)
