"""The other steps of a look: what waits and is due for it is judged, and the pools are filled in the order of rank."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from routines_app.core import lease_plan
from routines_app.core.admission import Cancel, Decision, Hold, Overtake, Publish, Replace, Skip, Supersede
from routines_app.core.lease_plan import Verdict
from routines_app.core.room import share_room
from routines_app.core.words import Reason
from routines_app.protocol.publish.judge import Verdicts, in_order
from routines_app.verbs.leases.candidate import Candidate
from routines_app.verbs.leases.picture import Picture


def judge(picture: Picture, *, batch: int) -> None:
    """Decide what a look at the outbox would take, by `publish/judge.py`, a batch at a time."""
    now = picture.now
    due = [each for each in picture.undecided() if each.publish_after is not None and each.publish_after <= now]
    due.sort(key=lambda each: (each.publish_after, each.slot, each.id))
    verdicts, by_id = Verdicts(now, picture.active()), {each.id: each for each in due}
    for start in range(0, len(due), batch):
        for row in in_order(each.waiting_row() for each in due[start : start + batch]):
            decision = verdicts.decide(row)
            if by_id[row.id].verdict is None:  # or a newer one of the same batch has taken its place
                _apply(picture, by_id[row.id], decision)


def _apply(picture: Picture, candidate: Candidate, decision: Decision) -> None:
    picture.take_back(candidate)
    candidate.taken_in = True
    match decision:
        case Publish():
            candidate.decide(Verdict.START, Reason.NONE, lease_plan.STARTS)
        case Hold(Reason.CEILING):
            candidate.publish_after, candidate.reason = None, Reason.CEILING
        case Hold(reason):
            candidate.decide(Verdict.HOLD, reason, lease_plan.held_because(reason))
        case Skip(reason):
            candidate.decide(Verdict.SKIP, reason, lease_plan.skipped_because(reason))
        case Cancel():
            picture.end(candidate.routine_id, [candidate.id])
        case Replace(stop=stop, cancel=cancel, force=force, then=then):
            picture.end(candidate.routine_id, [*cancel, *force])
            _apply(picture, candidate, then)
            candidate.replace_others(len({*stop, *cancel, *force}))
        case Supersede() | Overtake():
            raise AssertionError("only a run that is being created stands for others, or goes before them")


def fill_pools(picture: Picture, *, depth_weight: float) -> None:
    """Decide the rest: who gets room, and what the others wait for."""
    queues: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in picture.undecided():
        if candidate.pool_id is not None and candidate.waits_for_room(picture.now):
            queues[candidate.pool_id].append(candidate)
        else:
            _stay(candidate, picture.now)
    for pool_id, queue in sorted(queues.items()):
        _fill(picture, pool_id, queue, depth_weight)


def _fill(picture: Picture, pool_id: int, queue: list[Candidate], depth_weight: float) -> None:
    name, by_id = picture.pool_name(pool_id) or "", {candidate.id: candidate for candidate in queue}
    ranked, usage = [candidate.queued() for candidate in queue], {pool_id: picture.usage(pool_id)}
    ahead = 0
    for placed in share_room(usage, ranked, picture.now, depth_weight=depth_weight):
        candidate = by_id[placed.run.id]
        candidate.queues = True
        match placed.decision:
            case Publish():
                candidate.decide(Verdict.START, Reason.NONE, lease_plan.has_room(name, picture.usage(pool_id)))
                picture.enter(candidate)
            case Hold(reason):
                candidate.decide(Verdict.HOLD, reason, lease_plan.is_full(name, picture.usage(pool_id), ahead))
                ahead += 1


def _stay(candidate: Candidate, now: datetime) -> None:
    """Neither judged nor in a queue: it is on its way, or nobody looks at it yet."""
    if candidate.admitted_at is not None:
        candidate.decide(Verdict.START, Reason.NONE, lease_plan.ON_ITS_WAY)
    elif candidate.held is not None:
        candidate.decide(Verdict.HOLD, candidate.held, lease_plan.held_because(candidate.held))
    elif candidate.publish_after is None and candidate.eligible_at <= now:
        candidate.decide(Verdict.HOLD, candidate.reason, lease_plan.FORGOTTEN)
    else:
        look_at = candidate.publish_after or candidate.eligible_at
        candidate.decide(Verdict.HOLD, candidate.reason, lease_plan.held_because(candidate.reason, look_at))
