"""One bad row among many: finding it, so that the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from django.db import Error

from routines_app.protocol.ledger.database_errors import is_outage

Item = TypeVar("Item")

APART_SECONDS = 1.0  # a look has more to do; what is left is tried in the next


class Apart(NamedTuple, Generic[Item]):
    """What became of the items for which it was not done."""

    failed: list[tuple[Item, Exception]]
    left: list[Item]
    """Not tried any more: there was no time."""


def each_apart(act: Callable[[Sequence[Item]], object], items: Sequence[Item]) -> Apart[Item]:
    """Do it for halves of the items, and halves of these, until it is known for which of them it fails.

    `act` does it for all that it is given or, when it raises, for none: a transaction of its own. An outage is raised.
    However long it takes, one item is known at least, or nobody would ever get on.
    """
    found: Apart[Item] = Apart([], [])
    until, done = time.monotonic() + APART_SECONDS, 0
    waiting = [list(items)]
    while waiting:
        some = waiting.pop()
        if (done or found.failed) and time.monotonic() > until:
            found.left.extend(some)
            continue
        try:
            act(some)
            done += len(some)
        except Exception as error:
            if isinstance(error, Error) and is_outage(error):
                raise
            if len(some) == 1:
                found.failed.append((some[0], error))
            else:
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
    return found
