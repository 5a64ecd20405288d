"""Neighbours: another project whose keys in Redis have the same prefix.

Routines of both have the same numbers, so each would wait for leases of the other, stop its beats' turns and wake them
for nothing; the ledgers keep all promises, and everybody wonders why runs are late. So beats write down whose the
prefix is, and a beat of another ledger that finds this says so. Nothing is stopped. The mark runs out when nobody
renews it: a ledger that has moved is a stranger to its own mark until then.
"""

from __future__ import annotations

import json
import logging

from routines_app.conf import get_settings
from routines_app.coordination.own_keys import ask_key
from routines_app.coordination.redis_client import RedisAway, asking, key
from routines_app.protocol.ledger.identity import Identity, is_same, ledger_identity

logger = logging.getLogger(__name__)

REPORTS_MISSED = 3  # how many renewals may fail before the mark is anybody's

_told = ""


def mark_prefix() -> str:
    """Take the prefix for this ledger, or keep it; else what is wrong. The log is told when that begins and ends."""
    global _told
    found = _mark(ledger_identity(), renew=True)
    if found is None:  # nobody can tell now: what was so is taken to be so
        return _told
    if found and found != _told:
        logger.error("%s", found)
    if _told and not found:
        logger.warning("the key prefix %r is this project's alone", get_settings().key_prefix)
    _told = found
    return found


def stranger() -> str:
    """What is wrong, only looked at."""
    return _mark(ledger_identity(), renew=False) or ""


def _mark(ours: Identity, *, renew: bool) -> str | None:
    """What is wrong; empty when nothing is, None while Redis is away, which has its own line in the log."""
    lives = max(1, int(REPORTS_MISSED * get_settings().node_seconds))
    try:
        theirs = _read()
        if theirs is not None and not is_same(ours, theirs):
            return _problem(theirs)
        if renew:
            # Of two that come at the same moment the later one's mark stays, and the first one finds it next time.
            _write(json.dumps(ours), lives)
    except RedisAway:
        return None
    return ""


def _write(mark: str, lives: int) -> None:
    with asking(courtesy=True) as client:
        client.set(key("ledger"), mark, ex=lives)


def _read() -> Identity | None:
    mark = ask_key(key("ledger"), lambda client: client.get(key("ledger")), courtesy=True)
    try:
        found = json.loads(str(mark)) if mark else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _problem(theirs: Identity) -> str:
    prefix = get_settings().key_prefix
    return (
        f"another project (database {theirs.get('database')!r}) uses the key prefix {prefix!r} in the same Redis: they"
        " hold each other's exclusive runs back; set ROUTINES = {'KEY_PREFIX': …} to another one here"
    )
