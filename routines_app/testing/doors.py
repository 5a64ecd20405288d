"""Nothing leaves the process: what would go to the broker stays in the outbox, and Redis is not asked.

The places are those that every path goes through. Three more things are set while the doors are closed. The ends and
starts of runs take the portable way on PostgreSQL too: its one statement writes the database's own time, which does not
stand still (`tests/integration/protocol/conformance` holds both ways to the same cases). And a project without a broker
may ask for runs: nobody needs one here. What a body leaves for the commit of a test that has none is done in it
(`commits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

from routines_app.coordination import monitors, own_keys, server_facts, wakeups
from routines_app.coordination.broker import Broker, BrokerAway
from routines_app.coordination.redis_client import RedisAway
from routines_app.execution.body import Body
from routines_app.protocol.end import finish
from routines_app.protocol.publish import outbox
from routines_app.protocol.run import begin
from routines_app.protocol.upkeep import neighbours, nodes
from routines_app.testing.commits import call_and_commit
from routines_app.verbs import run_now

CLOSED = "a test's frozen clock keeps it away"


@contextmanager
def closed_doors() -> Iterator[None]:
    """Until the block ends, also by an error."""
    with ExitStack() as doors:
        for owner, name, instead in (
            (outbox, "send", _stays),
            (Broker, "_connected", _no_broker),
            (monitors, "wanted", _no),
            *((asks, "asking", _no_redis) for asks in (monitors, neighbours, nodes, own_keys, server_facts, wakeups)),
            (begin, "is_postgresql", _no),
            (finish, "is_postgresql", _no),
            (run_now, "has_broker", _yes),
            (Body, "_call", call_and_commit),
        ):
            doors.enter_context(patch.object(owner, name, instead))
        yield


def _stays(*_: Any, **__: Any) -> None:
    """In the outbox, where `run_due` finds it."""


def _no_broker(*_: Any) -> NoReturn:
    raise BrokerAway(CLOSED)


def _no_redis(**_: Any) -> NoReturn:
    raise RedisAway(CLOSED)


def _no(*_: Any) -> bool:
    return False


def _yes(*_: Any) -> bool:
    return True
