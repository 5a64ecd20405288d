"""Leases: a lock per routine in Redis, with an owner's token and a time to live.

A lease keeps other workers from even trying while an exclusive run lives. It is not what makes a second exclusive
run impossible, that is the ledger's `running_key`: so a lease that Redis has forgotten is simply taken again by its
owner. The functions raise `RedisAway`, a `redis.RedisError`, when Redis is away; a lease's token is its run's id.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, cast

from routines_app.coordination.redis_client import RedisAway, asking, key


def acquire(routine_id: int, token: str, seconds: float) -> bool:
    """Take the routine's lease, or renew it when it is ours; False when another owner has it."""
    return bool(_call("acquire_lease", routine_id, token, int(seconds * 1000)))


# A lease that has vanished (Redis restarted, flushed) is re-created by its owner: taking and renewing are one act.
renew = acquire


def release(routine_id: int, token: str, *, courtesy: bool = False) -> bool:
    """Give the lease back; False when it was not ours."""
    return bool(_call("release_lease", routine_id, token, courtesy=courtesy))


def release_quietly(routine_id: int, token: str) -> None:
    """Give the lease back, and never raise: with Redis away it runs out by itself."""
    try:
        release(routine_id, token, courtesy=True)
    except RedisAway:
        return


def holder(routine_id: int) -> tuple[str, float] | None:
    """The lease's token and the seconds that it still lives, or None when nobody holds it."""
    with asking() as client:
        pipeline = client.pipeline(transaction=True)
        pipeline.get(lease_key(routine_id))
        pipeline.pttl(lease_key(routine_id))
        token, left_ms = pipeline.execute()
    return None if token is None else (str(token), max(0, int(left_ms)) / 1000)


def lease_key(routine_id: int) -> str:
    return key("lease", routine_id)


def _call(name: str, routine_id: int, *arguments: Any, courtesy: bool = False) -> int:
    with asking(courtesy=courtesy) as client:
        script = client.register_script(_text(name))
        return cast(int, script(keys=[lease_key(routine_id)], args=arguments))


@lru_cache(maxsize=8)
def _text(name: str) -> str:
    return resources.files("routines_app.coordination").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
