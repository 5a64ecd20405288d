"""Asking something of one key of ours, which may have become something else.

All our keys hold text. Where the broker lives in the same Redis database, a queue of such a name puts a list in the
key's place, which never runs out: nobody would ever get that lease or turn again. What stands there is of no use to
anybody, so it is deleted, and what was asked is asked again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import redis

from routines_app.coordination.redis_client import asking
from routines_app.coordination.scripts import run_script

logger = logging.getLogger(__name__)

T = TypeVar("T")
WRONG_TYPE = "WRONGTYPE"  # in the words of Redis, which scripts and pipelines put into longer ones
REMEMBERED = 1000

_told: dict[str, None] = {}


def ask_key(mine: str, ask: Callable[[redis.Redis], T], *, courtesy: bool = False) -> T:
    """What `ask` gets from the client; it may be called twice. Raises `RedisAway`."""
    with asking(courtesy=courtesy) as client:
        try:
            return ask(client)
        except redis.ResponseError as error:
            if WRONG_TYPE not in str(error):
                raise
        _take_back(client, mine)
        return ask(client)


def call_script(name: str, mine: str, *arguments: Any, courtesy: bool = False) -> int:
    """Run `lua/<name>.lua` on the key, or raise `RedisAway`."""
    return ask_key(mine, lambda client: int(run_script(client, name, mine, *arguments)), courtesy=courtesy)


def _take_back(client: redis.Redis, mine: str) -> None:
    """As one act: another process may have done it since, and hold the lease by now."""
    kind = run_script(client, "take_back", mine)
    if kind and mine not in _told:
        _remember(mine)
        logger.error(
            "the key %s was a %s, as a queue of that name would be, and is deleted; give leases a Redis database of"
            " their own (ROUTINES['REDIS_URL'])",
            mine,
            kind,
        )


def _remember(mine: str) -> None:
    """Each process says it once, however often somebody does it again."""
    _told[mine] = None
    if len(_told) > REMEMBERED:
        del _told[next(iter(_told))]
