"""A test that is one transaction never commits: what waits for that is done all the same.

Django's TestCase, and pytest-django's `db`, undo everything at the end. Signals, results for django-celery-results and
what a body leaves to `transaction.on_commit` would never be seen. Each database that the test has in such a transaction
is looked after. Inside an `atomic()` of the caller's own it waits for that, as ever; without a transaction it is done
already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import Error, connections

from routines_app.execution.body import Body
from routines_app.protocol.ledger.database import ledger_alias

logger = logging.getLogger(__name__)

SPOILED = (
    "The test's own transaction is spoiled, perhaps by a database error in a body. Use a TransactionTestCase (with"
    " pytest: transactional_db), where a body has its connection as in production; or `transaction.atomic()` in it."
)

_call_body = Body._call


@contextmanager
def as_if_committed() -> Iterator[None]:
    """What this block leaves for the commit is done at its end; what fails is logged, and stops nobody."""
    before = _counts()
    try:
        yield
    except Error as error:
        if connections[ledger_alias()].in_atomic_block:
            error.add_note(SPOILED)
        raise
    for act, _robust in _left_since(before):
        _logged(act)


def call_and_commit(body: Body, call: Callable[[], Any]) -> None:
    """In the place of `Body._call`: what the task leaves for the commit is part of it, and its failure the body's.

    What a body that raises has left is done after it, by `as_if_committed`.
    """

    def committed() -> Any:
        before = _counts()
        value = call()
        for act, robust in _left_since(before):
            if robust:
                _logged(act)
            else:
                act()
        return value

    _call_body(body, committed)


def _counts() -> dict[str, int]:
    """How much waits for the commit of each database."""
    return {each.alias: len(each.run_on_commit) for each in _connections()}


def _left_since(before: dict[str, int]) -> Iterator[tuple[Callable[[], Any], bool]]:
    """What waits since then, and whether it is robust; also what doing that leaves.

    Whoever stops in between drops the rest of that database, as Django does after one that raises.
    """
    found = True
    while found:
        found = False
        for each in _connections():
            first = before.get(each.alias, 0)
            if _is_the_tests(each.atomic_blocks) and len(each.run_on_commit) > first:
                found = True
                left, each.run_on_commit[first:] = each.run_on_commit[first:], []
                for _savepoints, act, robust in left:
                    yield act, robust


def _logged(act: Callable[[], Any]) -> None:
    try:
        act()
    except Exception:
        logger.exception("what was left for the commit failed")


def _connections() -> Sequence[Any]:
    return connections.all(initialized_only=True)


def _is_the_tests(blocks: Sequence[object]) -> bool:
    return bool(blocks) and all(getattr(block, "_from_testcase", False) for block in blocks)
