"""Turns: of several beats one does something. Without Redis each does it, which costs work and breaks nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from routines_app.coordination.own_keys import call_script
from routines_app.coordination.redis_client import RedisAway, key

logger = logging.getLogger(__name__)


def take_turn(*name: object, seconds: float, token: str = "") -> bool:
    """Whether it is ours, until so much time has passed."""
    # A turn is a lease that nobody renews. Not `SET … NX`, which would take a list under the key for somebody's turn.
    owner = token or str(uuid4())
    try:
        return bool(call_script("acquire_lease", key(*name), owner, max(1, int(seconds * 1000))))
    except RedisAway:
        return True


@contextmanager
def turn(*name: object, seconds: float) -> Iterator[bool]:
    """Whether it is ours, and then for as long as this lasts; `seconds` are for one who dies meanwhile.

    Whoever takes longer has lost it: what is given back is only ever its own, not the next one's.
    """
    token = str(uuid4())
    is_ours = take_turn(*name, seconds=seconds, token=token)
    try:
        yield is_ours
    finally:
        if is_ours:
            _give_back(key(*name), token)


def _give_back(mine: str, token: str) -> None:
    try:
        call_script("release_lease", mine, token)
    except RedisAway:
        logger.debug("the turn %s will run out by itself", mine)
