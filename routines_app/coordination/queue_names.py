"""Queue names: on Redis a queue is a key, and whoever names it chooses which one.

A run is pushed to the key of exactly that name, as a rule. A queue that was named like a lease of ours, or like what
kombu or Celery keep for themselves, would put a list in its place, for good. So such names are refused where a routine
is written, and once more before something is sent: a row may have been written by SQL, and a route is the project's own
code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery import Celery
from celery.app import app_or_default

from routines_app.conf import get_settings
from routines_app.coordination.wire_limits import LONGEST_BYTES, is_too_long
from routines_app.core.errors import shown
from routines_app.core.said import said

# What our keys begin with after the prefix, which may be empty (`redis_client.key`).
OWN_WORDS = ("import", "lease", "ledger", "losses", "turn")
# kombu's tables and unacknowledged messages on Redis; what RabbitMQ keeps for itself.
BROKER_STARTS = ("_kombu.", "unacked", "amq.")
# Results, remote control and its replies, delayed delivery. Anywhere in a name: they may have prefixes of their own.
CELERY_PARTS = ("celery-task-meta-", "celery-taskset-meta-", "chord-unlock-", ".pidbox", "celery_delayed_")
UNACKED_OPTIONS = ("unacked_key", "unacked_index_key", "unacked_mutex_key")


def refusal(name: str, app: Celery | None = None) -> str:
    """What would be right in place of a queue's name; empty when the name is."""
    if not name.isprintable() or name != name.strip():
        return said("give a name of printable characters, without a space around it")
    if not name or is_too_long(name):
        return said("give a name of 1 to {most} bytes", most=LONGEST_BYTES)
    conf = app_or_default(app).conf
    options = conf.broker_transport_options or {}  # once: Celery's settings take long to read
    return _of_ours(name, options) or _of_the_broker(name, options, str(conf.event_queue_prefix or "celeryev"))


def refusal_of_named(name: str, app: Celery | None = None) -> str:
    """The same for a name that a routine gives: the project may have said which there are."""
    allowed = get_settings().queues
    if allowed is not None and name not in allowed:
        if not allowed:
            return said("give one of ROUTINES['QUEUES'] (which is empty), or none")
        return said("give one of ROUTINES['QUEUES'] ({names}), or none", names=", ".join(allowed))
    return refusal(name, app)


def refusal_of_exchange(name: str, app: Celery | None = None) -> str:
    """The same for an exchange that a routine gives: events, remote control and delays go through some of them."""
    starts = (*BROKER_STARTS, "reply.")
    events = str(app_or_default(app).conf.event_exchange or "celeryev")
    if name.startswith(starts) or name == events:
        return said(
            "give an exchange of your own: {events}, and what begins with any of {starts}, are taken",
            events=events,
            starts=", ".join(starts),
        )
    if any(part in name for part in CELERY_PARTS):
        return said(
            "give an exchange without any of {parts} in its name: these are Celery's", parts=", ".join(CELERY_PARTS)
        )
    return ""


def _of_ours(name: str, options: Mapping[str, Any]) -> str:
    prefix = get_settings().key_prefix
    if prefix and name.startswith(prefix):
        return said(
            "give a name that does not begin with {prefix!r}, as keys of our own do (ROUTINES['KEY_PREFIX'])",
            prefix=prefix,
        )
    # The key that kombu makes of it. It may have our prefix from there, as every queue then has.
    made = f"{options.get('global_keyprefix') or ''}{name}"
    if made.startswith(prefix) and made.removeprefix(prefix).split(":")[0] in OWN_WORDS:
        return said(
            "give a name that does not begin with any of {starts}, as keys of our own do", starts=", ".join(OWN_WORDS)
        )
    return ""


def _of_the_broker(name: str, options: Mapping[str, Any], events: str) -> str:
    starts = (*BROKER_STARTS, events)
    if name.startswith(starts) or name in [options.get(option) for option in UNACKED_OPTIONS]:
        return said(
            "give a name that does not begin with any of {starts}: these are the broker's and Celery's",
            starts=", ".join(starts),
        )
    parts = (*CELERY_PARTS, *([str(options["sep"])] if options.get("sep") else []))
    if any(part in name for part in parts):
        return said(
            "give a name without any of {parts}: these are the broker's and Celery's",
            parts=", ".join(map(shown, parts)),
        )
    return ""
