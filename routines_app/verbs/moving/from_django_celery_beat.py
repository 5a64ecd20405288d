"""The entries of django-celery-beat, by its own models. Nothing of it is written.

Its `ModelEntry` is not made here: it disables what it cannot read, and saves that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from celery import Celery
from celery.exceptions import ImproperlyConfigured
from celery.schedules import solar
from django.apps import apps
from django.db import DatabaseError

from routines_app.core.errors import NotAllowed
from routines_app.core.said import said
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler, Problem
from routines_app.verbs.moving.problems import told

SCHEDULES = ("crontab", "interval", "solar", "clocked")
NAMED_OPTIONS = ("queue", "exchange", "routing_key", "priority")
LONG_AGO = timedelta(days=365 * 30)  # as its ModelEntry has it: with a start time and no run it is due at the start


def entries(_: Celery) -> Iterator[OldEntry | Problem]:
    """Each row of its `PeriodicTask`."""
    for row in _rows():
        try:
            yield _old_entry(row)
        except Exception as error:  # noqa: BLE001 - whatever a row holds: the others are read
            yield Problem(key=str(row.name), why=told(error))


def _rows() -> list[Any]:
    if not apps.is_installed("django_celery_beat"):
        raise NotAllowed("source", OldScheduler.DJANGO_CELERY_BEAT, said("add django_celery_beat to INSTALLED_APPS"))
    model = apps.get_app_config("django_celery_beat").get_model("PeriodicTask")
    try:
        return list(model._default_manager.select_related(*SCHEDULES).order_by("name"))
    except DatabaseError as error:
        expected = said("its tables cannot be read: {error}", error=str(error))
        raise NotAllowed("source", OldScheduler.DJANGO_CELERY_BEAT, expected) from error


def _old_entry(row: Any) -> OldEntry:
    return OldEntry(
        scheduler=OldScheduler.DJANGO_CELERY_BEAT,
        key=row.name,
        task=row.task,
        args=_json(row, "args", list),
        kwargs=_json(row, "kwargs", dict),
        schedule=_schedule(row),
        options=_options(row),
        enabled=row.enabled,
        last_run_at=row.last_run_at,
        counts_from=row.date_changed - (LONG_AGO if row.start_time else timedelta(0)),
        start_at=row.start_time,
        ends_before=row.expires,
        one_off=row.one_off,
        was_sent=row.one_off and row.total_run_count > 0,
        description=row.description,
    )


def _json(row: Any, field: str, kind: type) -> Any:
    text = getattr(row, field)
    try:
        value = json.loads(text or "null") or kind()
    except ValueError as error:
        raise ValueError(f"its {field} are no JSON: {error}") from error
    if not isinstance(value, kind):
        raise ValueError(f"its {field} are no JSON {'list' if kind is list else 'object'}")
    return value


def _schedule(row: Any) -> Any:
    if row.scheduler is None:
        raise ValueError("it has no schedule")
    try:
        return row.schedule
    except ImproperlyConfigured:
        return _sun(row.solar)


def _sun(row: Any) -> solar:
    """Without the library of astronomy that Celery would ask: it cannot be carried, and says what it is."""
    found = solar.__new__(solar)
    vars(found).update(event=row.event, lat=row.latitude, lon=row.longitude)
    return found


def _options(row: Any) -> dict[str, Any]:
    """As its ModelEntry makes them. `expires`, a moment, ends the schedule too: `ends_before`."""
    found = {name: value for name in NAMED_OPTIONS if (value := getattr(row, name)) is not None}
    found["headers"] = _json(row, "headers", dict)
    if row.expire_seconds and not row.expires:
        found["expires"] = row.expire_seconds
    return {name: value for name, value in found.items() if value not in ("", {})}
