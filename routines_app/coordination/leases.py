"""Leases: a lock per routine in Redis, with an owner's token and a time to live.

A lease keeps other workers from even trying while an exclusive run lives. It is not what makes a second exclusive
run impossible, that is the ledger's `running_key`: so a lease that Redis has forgotten is simply taken again by its
owner. The functions raise `RedisAway`, a `redis.RedisError`, when Redis is away; a lease's token is its run's id.
"""

from __future__ import annotations

from typing import Any

import redis

from routines_app.coordination.own_keys import ask_key, call_script
from routines_app.coordination.redis_client import RedisAway, key


def acquire(routine_id: int, token: str, seconds: float) -> bool:
    """Take the routine's lease, or renew it when it is ours; False when another owner has it."""
    return bool(call_script("acquire_lease", lease_key(routine_id), token, int(seconds * 1000)))


# A lease that has vanished (Redis restarted, flushed) is re-created by its owner: taking and renewing are one act.
renew = acquire


def release(routine_id: int, token: str, *, courtesy: bool = False) -> bool:
    """Give the lease back; False when it was not ours."""
    return bool(call_script("release_lease", lease_key(routine_id), token, courtesy=courtesy))


def release_quietly(routine_id: int, token: str) -> None:
    """Give the lease back, and never raise: with Redis away it runs out by itself."""
    try:
        release(routine_id, token, courtesy=True)
    except RedisAway:
        return


def holder(routine_id: int) -> tuple[str, float] | None:
    """The lease's token and the seconds that it still lives, or None when nobody holds it."""
    mine = lease_key(routine_id)

    def look(client: redis.Redis) -> list[Any]:
        pipeline = client.pipeline(transaction=True)
        pipeline.get(mine)
        pipeline.pttl(mine)
        return pipeline.execute()

    token, left_ms = ask_key(mine, look)
    return None if token is None else (str(token), max(0, int(left_ms)) / 1000)


def lease_key(routine_id: int) -> str:
    return key("lease", routine_id)
