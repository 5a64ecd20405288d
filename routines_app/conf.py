"""Settings: the `ROUTINES` dictionary of a Django project, validated once, with a default for everything."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be set, in `ROUTINES = {"NAME": value}` of the Django settings (upper case)."""

    redis_url: str = ""
    """Redis for leases and wake-ups, in any form that Celery reads: `redis://`, `rediss://`, `unix://`,
    `redis+socket://`; no Cluster. Empty: the broker, if that is a Redis in any form. There is no default server.

    Sentinels beside another broker: `sentinel://host:26379/0?master_name=…`, with `sentinel_password` if they have one.
    """

    key_prefix: str = "routines:"
    """Put before every Redis key and channel; projects that share a Redis need different ones, and are told so."""

    queues: tuple[str, ...] | None = None
    """The queues that a routine may name. None: any, but those that are the broker's, Celery's or our own keys.

    What `task_routes` and the tasks themselves say is the project's own, and is not asked of this list.
    """

    seeds: tuple[str, ...] = ()
    """The dotted paths of the callables that a rotation may be seeded by, for those who edit it in the admin. Code and
    the command line may name any: whoever uses these can run what they like anyway."""

    claim_batch: int = 500
    """How many due routines one claim transaction takes: large enough to be fast, short enough to not block."""

    idle_seconds: float = 1.25
    """The sleep of a beat with nothing due; it doubles twice while that stays so, within `max_sleep_seconds`."""

    max_sleep_seconds: float = 5.0
    """No sleep and no back-off is longer than this."""

    reconcile_seconds: float = 5.0
    """How often the beats, together, look for lost messages and orphaned runs."""

    publish_retry_seconds: float = 1.5
    """A run that is not stamped as published after this long is published by any beat."""

    lease_seconds: float = 30.0
    """Time to live of a lease; survives two missed renewals."""

    heartbeat_seconds: float = 10.0
    """How often a running run says that it lives."""

    orphan_seconds: float = 25.0
    """How long a beat must itself have seen the same heartbeat before it calls a run orphaned."""

    unguarded_orphan_seconds: float = 120.0
    """The same, if it is longer, for runs of threads, solo and gevent workers: a body that holds the interpreter's lock
    silences the heart beside it, and no parent beats for it as in prefork."""

    stop_grace_seconds: float = 5.0
    """How long a body may clean up after it was asked to stop, before its process ends."""

    replace_grace_seconds: float = 20.0
    """How long a REPLACE run waits for the run that it replaces before it goes ahead with a higher fence."""

    events: bool | None = None
    """Whether `routine-…` events go to Celery's monitors. None: from workers that were asked for events, and from all
    other processes while there is such a worker, or when `worker_send_task_events` or `task_send_sent_event` is set."""

    log_format: str = ""
    """`json`: workers and beats write one JSON object for each log record. Empty: as Celery is configured."""

    default_timezone: str = ""
    """For routines that name none. Empty: Django's TIME_ZONE."""

    max_arguments_bytes: int = 64 * 1024
    """How much JSON the arguments of a routine or a run may be; more is refused."""

    max_result_bytes: int = 64 * 1024
    """How much JSON of a result is kept with its run; more is cut visibly."""

    max_error_chars: int = 10_000
    """How much of an error is kept."""

    max_traceback_chars: int = 40_000
    """How much of a traceback is kept."""

    max_log_lines: int = 200
    """Log lines kept with one run; the oldest go first."""

    keep_runs_days: float = 30.0
    """History older than this is pruned in small batches, ticks of rotations too, but for runs that rows of yours refer
    to. 0 keeps everything."""

    prune_batch: int = 1000
    """How many rows one statement prunes."""

    mirror_results: bool = True
    """Write a django-celery-results record for each run whose routine has `keep_result`."""

    mirror_secrets: bool = False
    """Write arguments, results and errors there as they are. Else they are masked, as everywhere: those records can be
    searched and read in an admin that is not ours."""

    worker_connection_seconds: float | None = 60.0
    """CONN_MAX_AGE in workers when the project leaves it at 0: Celery would reconnect around every task."""

    node_seconds: float = 60.0
    """How often beats and workers report themselves."""

    heartbeat_file: str = ""
    """Where beats (`….beat`) and workers (`….worker`) leave a sign of life on their own machine, for liveness probes:
    `/run/routines`, say. Empty: nowhere, and `routines health --here` asks the ledger."""

    import_beat_schedule: bool = True
    """Turn the Celery app's static `beat_schedule` into routines when a beat starts."""

    declared: dict[str, Any] = field(default_factory=dict)
    """Routines by their names, each with its fields, `task` among them: what `@routine` says, for tasks of others."""

    sync_declared: bool = True
    """Bring what code declares into the ledger after `migrate` and when a beat starts. False: only `routines sync`."""

    sync_at_migrate: bool = True
    """After `migrate`, make those that are not there yet. False: they wait for a beat's start, or `routines sync`."""

    declared_scope: str = "code"
    """Whose declarations these are: projects that share a ledger need different ones."""

    undeclared_minutes: float = 10.0
    """A code-declared routine that no live beat declares any more is archived after this long."""

    depth_weight: float = 0.5
    """How much sooner deeper routines (below a `parent`) get room in a pool; 0: no sooner."""

    secret_patterns: tuple[str, ...] = ()
    """Names of arguments, results and options that contain one of these are masked, beside all that `masks` knows."""

    not_secret: tuple[str, ...] = ()
    """Whole names that are shown although they look secret, such as `max_tokens`."""


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The project's settings; an unknown name or a wrong type is an `ImproperlyConfigured`."""
    given: dict[str, Any] = dict(getattr(settings, "ROUTINES", {}))
    known = {each.name.upper() for each in fields(Settings)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ImproperlyConfigured(f"ROUTINES: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    found = Settings(**{name.lower(): _typed(name, value) for name, value in given.items()})
    _refuse_false_alarms(found)
    return found


def _refuse_false_alarms(found: Settings) -> None:
    """Hearts that beat too rarely would have living runs called orphans, and leases run out under their holders."""
    if found.heartbeat_seconds >= found.orphan_seconds or found.lease_seconds <= 2 * found.heartbeat_seconds:
        raise ImproperlyConfigured(
            f"ROUTINES: HEARTBEAT_SECONDS ({found.heartbeat_seconds:g}) must be less than ORPHAN_SECONDS"
            f" ({found.orphan_seconds:g}) and less than half of LEASE_SECONDS ({found.lease_seconds:g})"
        )


def _typed(name: str, value: Any) -> Any:
    if name == "QUEUES":
        return _queues(value)
    if name == "SEEDS":
        return _seeds(value)
    if name in _CHOICES:
        return _one_of(name, value)
    default = getattr(Settings(), name.lower())
    if isinstance(default, tuple) and isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(default, bool) or isinstance(value, bool):
        accepted: tuple[type, ...] = (bool,) if isinstance(default, bool) else (type(default),)
    elif isinstance(default, float) or default is None:
        accepted = (int, float)
    else:
        accepted = (type(default),)
    if value is None and name == "WORKER_CONNECTION_SECONDS":
        return None
    if not isinstance(value, accepted) or (isinstance(value, int | float) and value < 0):
        wanted = " or ".join(kind.__name__ for kind in accepted)
        raise ImproperlyConfigured(f"ROUTINES[{name!r}]: {value!r} is not accepted: a {wanted}, not negative")
    return value


_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_CHOICES: dict[str, tuple[Any, ...]] = {"EVENTS": (None, True, False), "LOG_FORMAT": ("", "json")}


def _one_of(name: str, value: Any) -> Any:
    # By identity where there is one: 1 equals True, and is none of these.
    if not any(value is known or (isinstance(value, str) and value == known) for known in _CHOICES[name]):
        wanted = ", ".join(map(repr, _CHOICES[name]))
        raise ImproperlyConfigured(f"ROUTINES[{name!r}]: {value!r} is not accepted: one of {wanted}")
    return value


def _queues(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    # A text is a sequence too, of the queues "m", "a", "i" …
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(n, str) and n for n in value):
        raise ImproperlyConfigured(f"ROUTINES['QUEUES']: {value!r} is not accepted: a list of names, or None")
    return tuple(sorted(value))


def _seeds(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(path, str) and _DOTTED.fullmatch(path) for path in value
    ):
        wanted = "a list of dotted paths, such as shop.feeds.members"
        raise ImproperlyConfigured(f"ROUTINES['SEEDS']: {value!r} is not accepted: {wanted}")
    return tuple(value)


def sqlite_options() -> dict[str, Any]:
    """OPTIONS for a SQLite database that several processes write to: WAL, immediate transactions, patience."""
    return {
        "transaction_mode": "IMMEDIATE",
        "timeout": 10,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "ROUTINES":
        get_settings.cache_clear()


setting_changed.connect(_forget)
