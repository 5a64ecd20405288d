"""How long a verb waits for a row that somebody else holds.

In a program or at the command line as long as the connection's own limits say: whoever calls a verb there may wait. In
a web request for a moment, because somebody looks at the page, and everybody who presses the same button takes another
of the web server's places. Then it is an error that says so, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import Error, transaction

from routines_app.core.errors import Held
from routines_app.core.said import said
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import Trouble, trouble_of
from routines_app.protocol.ledger.timeouts import bounded, is_bounded

LOCK_MS = 1_500  # of a web request, for each row; claims and ends hold theirs for milliseconds

_impatient: ContextVar[bool] = ContextVar("impatient", default=False)


@contextmanager
def impatiently() -> Iterator[None]:
    """In here verbs wait for a row for a moment, and raise `Held` then. Around what a web request does."""
    token = _impatient.set(True)
    try:
        yield
    finally:
        _impatient.reset(token)


@contextmanager
def verb_transaction(field: str, value: object) -> Iterator[None]:
    """The transaction of a verb; field and value say whose row it is that somebody holds."""
    if is_bounded() or not _impatient.get():  # a beat's chore has limits, and wants to know what they were about
        with transaction.atomic(using=ledger_alias()):
            yield
        return
    try:
        with bounded(lock_ms=LOCK_MS):
            yield
    except Error as error:
        if trouble_of(error) is not Trouble.LOCKED:
            raise
        raise Held(
            field, value, said("somebody else is changing it, or holds its row: try again in a moment")
        ) from error
