"""The old scheduler's side of a switch-over: its entries are disabled and enabled by its own package's means.

django-celery-beat's beat asks before everything that it sends whether something has changed, and reads its entries anew
then. It keeps each last fire in memory, and forgets it when the entry is disabled: what is known of it is read first.
redbeat reads each entry before it sends it, and stores its last fire before that.

Neither locks: each writes its own facts about an entry, and django-celery-beat then writes the whole row as it has just
read it. So a disabled entry may be enabled again at that very moment, and whoever relies on it asks `still_enabled`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from celery.app import app_or_default
from django.apps import apps
from django.db import router, transaction
from redis.exceptions import RedisError

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.verbs.moving.old_entries import OldScheduler

LastRuns = dict[str, datetime | None]


class OldSide(NamedTuple):
    """What can be done with entries by their names. One that is gone is left out of every answer."""

    last_runs: Callable[[Collection[str]], LastRuns]
    """When each was last sent, as far as that is stored."""
    disable: Callable[[Collection[str]], None]
    still_enabled: Callable[[Collection[str]], set[str]]
    enable: Callable[[Mapping[str, datetime | None]], set[str]]
    """Enable them, as if each had been sent last at that moment, unless it was sent later; which there were."""


def side_of(scheduler: str) -> OldSide:
    """The side of that scheduler; one whose package is not here cannot be asked."""
    return _SIDES[OldScheduler(scheduler)]


# django-celery-beat


def _disable_rows(names: Collection[str]) -> None:
    with _changing_rows() as rows:  # not by `save`, which forgets the last fire
        rows.filter(name__in=names, enabled=True).update(enabled=False)


def _enable_rows(last_runs: Mapping[str, datetime | None]) -> set[str]:
    with _changing_rows() as rows:
        found = list(rows.select_for_update().filter(name__in=last_runs))
        for row in found:
            row.enabled = True
            row.last_run_at = _later(last_runs[row.name], row.last_run_at)
        rows.bulk_update(found, ["enabled", "last_run_at"], batch_size=100)
    return {row.name for row in found}


def _last_runs_of_rows(names: Collection[str]) -> LastRuns:
    return dict(_model("PeriodicTask")._default_manager.filter(name__in=names).values_list("name", "last_run_at"))


def _enabled_rows(names: Collection[str]) -> set[str]:
    rows = _model("PeriodicTask")._default_manager.filter(name__in=names, enabled=True)
    return set(rows.values_list("name", flat=True))


@contextmanager
def _changing_rows() -> Iterator[Any]:
    """Its rows, in a transaction; then its beat is told, which must find them changed."""
    alias = router.db_for_write(_model("PeriodicTask"))
    with transaction.atomic(using=alias):
        yield _model("PeriodicTask")._default_manager.using(alias)
    changes = _model("PeriodicTasks")
    before = changes.last_change()
    changes.update_changed()
    # Its beat compares moments by the clocks of whoever changes something: ours may be behind the last one's.
    if before is not None and changes.last_change() <= before:
        changes._default_manager.update(last_update=before + timedelta(milliseconds=1))


def _model(name: str) -> Any:
    if not apps.is_installed("django_celery_beat"):
        raise NotAllowed("scheduler", OldScheduler.DJANGO_CELERY_BEAT, said("add django_celery_beat to INSTALLED_APPS"))
    return apps.get_app_config("django_celery_beat").get_model(name)


# celery-redbeat


def _disable_keys(names: Collection[str]) -> None:
    for entry in _entries(names).values():
        if entry.enabled:
            entry.enabled = False
            entry.save()  # the definition alone: its last fire is stored beside it, and stays


def _enable_keys(last_runs: Mapping[str, datetime | None]) -> set[str]:
    found = _entries(last_runs)
    for name, entry in found.items():
        if (last_run := _later(last_runs[name], entry.last_run_at)) is not None:
            entry.reschedule(last_run_at=last_run)  # before it is enabled, or it could be sent once more
        entry.enabled = True
        entry.save()
    return set(found)


def _last_runs_of_keys(names: Collection[str]) -> LastRuns:
    return {name: entry.last_run_at for name, entry in _entries(names).items()}


def _enabled_keys(names: Collection[str]) -> set[str]:
    return {name for name, entry in _entries(names).items() if entry.enabled}


def _entries(names: Collection[str]) -> dict[str, Any]:
    try:
        from redbeat.schedulers import RedBeatSchedulerEntry, ensure_conf
    except ImportError as error:
        raise NotAllowed(
            "scheduler", OldScheduler.REDBEAT, said("install celery-redbeat here: {error}", error=str(error))
        ) from error
    app = app_or_default()
    ensure_conf(app)
    found = {}
    for name in names:
        try:
            found[name] = RedBeatSchedulerEntry.from_key(RedBeatSchedulerEntry.generate_key(app, name), app=app)
        except KeyError:
            continue  # gone
        except RedisError as error:
            expected = said("its Redis cannot be asked: {kind}: {error}", kind=type(error).__name__, error=str(error))
            raise NotAllowed("scheduler", OldScheduler.REDBEAT, expected) from error
    return found


def _later(ours: datetime | None, theirs: datetime | None) -> datetime | None:
    """It may have been enabled before, by somebody who could not say so any more, and have been sent since."""
    return max((moment for moment in (ours, theirs) if moment is not None), default=None)


_SIDES = {
    OldScheduler.DJANGO_CELERY_BEAT: OldSide(_last_runs_of_rows, _disable_rows, _enabled_rows, _enable_rows),
    OldScheduler.REDBEAT: OldSide(_last_runs_of_keys, _disable_keys, _enabled_keys, _enable_keys),
    # Nothing of it is stored where it could be changed.
    OldScheduler.BEAT_SCHEDULE: OldSide(lambda _: {}, lambda _: None, lambda _: set(), lambda _: set()),
}
