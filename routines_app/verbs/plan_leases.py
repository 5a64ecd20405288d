"""What a beat would do next with everything that could go, and why; for the policy that holds, or for another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from routines_app.conf import get_settings
from routines_app.core.errors import InvalidValue
from routines_app.core.lease_plan import Difference, LeaseDecision, LeasePlan, Verdict, differences
from routines_app.core.said import said
from routines_app.models import Pool
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias
from routines_app.verbs.checking.rules import Integer, moment
from routines_app.verbs.leases.claiming import claim
from routines_app.verbs.leases.facts import Facts, PoolFacts, read_facts, read_pools
from routines_app.verbs.leases.later_steps import fill_pools, judge
from routines_app.verbs.leases.picture import Picture
from routines_app.verbs.leases.what_if import WhatIf, chosen_pool, read_what_if

__all__ = ["Difference", "LeaseDecision", "LeasePlan", "Verdict", "plan_leases"]

LIMIT = Integer(least=1, most=100_000)
PoolRef = Pool | int | str


def plan_leases(
    *,
    now: datetime | str | None = None,
    pools: Iterable[PoolRef] | PoolRef | None = None,
    what_if: Mapping[str, Any] | None = None,
    limit: int = 1000,
) -> LeasePlan:
    """What a beat would do if it looked at `now` (None: the present): start, hold, skip or replace, and why.

    Candidates are the runs that wait and are not in the broker, and the slots that are due and have no row yet, in the
    order of rank; `pools`: only those of these pools. One look is simulated, with the functions that decide for a beat:
    the claim of what is due, the judgement of what waits, the room in the pools. What starts takes its room, and is
    active for the next ones.

    A later `now` takes the beats to be on time until then: the next due slot of each routine is a candidate, not the
    ones after it; nothing ends or fails meanwhile, and what waits today waits still. Not simulated: the broker, the
    workers (so not what a start would refuse), rows that somebody holds, the upkeep, the next slot of an ALL catch-up,
    the ticks of rotations and whom they would pick (`rotation_status` says that).

    `what_if` is another policy: `{"pools": {name: ceiling}, "paused": [name], "resumed": [name], "priorities": {name:
    word}, "schedules": {name: {"cron": …} or {"every": …}}, "concurrency": {name: word}}`, all of it as if edited at
    the present. The decisions are then that policy's, and `differences` are those to the one that holds.

    Nothing is written, and nothing is locked. The statements are few, whatever there is.
    """
    present = clock.now()
    now = present if now is None else moment("now", now)
    limit = LIMIT("limit", limit)
    known = read_pools()
    chosen = _chosen(pools, known)
    policy = read_what_if(what_if, known)
    facts = read_facts(now, present, named=policy.routines, pools=known, chosen=chosen, limit=limit)
    found = _decisions(facts, policy, chosen)
    changed = () if what_if is None else differences(_decisions(facts, WhatIf(), chosen), found)
    return LeasePlan(
        now=now,
        decisions=tuple(found[:limit]),
        differences=changed[:limit],
        truncated=facts.truncated or max(len(found), len(changed)) > limit,
    )


def _chosen(pools: Iterable[PoolRef] | PoolRef | None, known: Mapping[int, PoolFacts]) -> dict[int, str] | None:
    """The pools that are asked for, by id; None: everything."""
    if pools is None:
        return None
    refs: Any = [pools] if isinstance(pools, PoolRef) else pools
    if not isinstance(refs, Iterable) or isinstance(refs, Mapping | bytes):
        raise InvalidValue("pools", pools, said("give a pool, its id or its name, or several of them"))
    found = [chosen_pool(ref, known, "pools") for ref in refs]
    return {pool.id: pool.name for pool in found}


def _decisions(facts: Facts, policy: WhatIf, chosen: Mapping[int, str] | None) -> list[LeaseDecision]:
    settings, picture = get_settings(), Picture(facts, policy)
    claim(picture, batch=settings.claim_batch, enters_at_once=is_postgresql(ledger_alias()))
    judge(picture, batch=settings.claim_batch)
    fill_pools(picture, depth_weight=settings.depth_weight)
    names = None if chosen is None else set(chosen.values())
    decisions = picture.decisions(settings.depth_weight)
    return [each for each in decisions if names is None or each.pool in names]
