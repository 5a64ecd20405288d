"""Old schedulers, with entries that routines in shadow were made from."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from celery.schedules import schedule
from django.apps import apps

from routines_app import service
from routines_app.models import MovedEntry, OldFire, Routine
from routines_app.protocol.ledger import clock
from tests.integration.conftest import NOTE
from tests.integration.old_schedulers import AddEntry, add_entry, django_celery_beat, redbeat_app

__all__ = ["add_entry", "django_celery_beat", "redbeat_app"]

DJANGO_CELERY_BEAT, REDBEAT = "django-celery-beat", "celery-redbeat"


def shadowed(name: str, scheduler: str, **values: Any) -> Routine:
    """A routine in shadow."""
    routine = service.create_routine(name, **({"task": NOTE, "every": "10s"} | values))
    Routine.objects.filter(pk=routine.pk).update(shadow=True)
    MovedEntry.objects.create(routine=routine, scheduler=scheduler, key=name, created_at=clock.now())
    return routine


def fired(name: str, *moments: datetime, scheduler: str = DJANGO_CELERY_BEAT) -> None:
    """The old beat has sent it then."""
    OldFire.objects.bulk_create(
        OldFire(scheduler=scheduler, key=name, task_id=str(uuid4()), fired_at=moment) for moment in moments
    )


class OldScheduler:
    """Entries by name, as the old package stores them."""

    name: str

    def add(self, name: str, *, last_run_at: datetime | None = None, enabled: bool = True) -> None:
        raise NotImplementedError

    def is_enabled(self, name: str) -> bool:
        raise NotImplementedError

    def last_run(self, name: str) -> datetime | None:
        raise NotImplementedError


class Rows(OldScheduler):
    name = DJANGO_CELERY_BEAT

    def __init__(self, add: AddEntry) -> None:
        self._add = add

    def add(self, name: str, *, last_run_at: datetime | None = None, enabled: bool = True) -> None:
        every = {"every": 10, "period": "seconds"}
        self._add(name, interval=every, last_run_at=last_run_at, enabled=enabled)

    def is_enabled(self, name: str) -> bool:
        return bool(self._row(name).enabled)

    def last_run(self, name: str) -> datetime | None:
        moment: datetime | None = self._row(name).last_run_at
        return moment

    def _row(self, name: str) -> Any:
        return apps.get_app_config("django_celery_beat").get_model("PeriodicTask")._default_manager.get(name=name)


class Keys(OldScheduler):
    name = REDBEAT

    def __init__(self, app: Any) -> None:
        self._app = app

    def add(self, name: str, *, last_run_at: datetime | None = None, enabled: bool = True) -> None:
        from redbeat import RedBeatSchedulerEntry

        every = schedule(run_every=10, app=self._app)
        entry = RedBeatSchedulerEntry(name, NOTE, every, enabled=enabled, app=self._app).save()
        if last_run_at is not None:
            entry.reschedule(last_run_at=last_run_at)

    def is_enabled(self, name: str) -> bool:
        return bool(self._entry(name).enabled)

    def last_run(self, name: str) -> datetime | None:
        moment: datetime | None = self._entry(name).last_run_at
        return moment

    def _entry(self, name: str) -> Any:
        from redbeat import RedBeatSchedulerEntry
        from redbeat.schedulers import ensure_conf

        ensure_conf(self._app)
        return RedBeatSchedulerEntry.from_key(RedBeatSchedulerEntry.generate_key(self._app, name), app=self._app)


@pytest.fixture(params=[DJANGO_CELERY_BEAT, REDBEAT])
def old(request: pytest.FixtureRequest, transactional_db: None) -> OldScheduler:
    """Each of the two packages that store their entries."""
    if request.param == REDBEAT:
        return Keys(request.getfixturevalue("redbeat_app"))
    return Rows(request.getfixturevalue("add_entry"))
