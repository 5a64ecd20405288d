"""Other schedulers beside ours, with their real packages: django-celery-beat's tables, redbeat's keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from celery import Celery
from celery.app import app_or_default
from django.apps import apps
from django.contrib.admin import site
from django.db import connection
from django.test import modify_settings
from pytest_django.plugin import DjangoDbBlocker

NOTE = "tests.acceptance.tasks.note"
MODELS = ("SolarSchedule", "IntervalSchedule", "ClockedSchedule", "CrontabSchedule", "PeriodicTasks", "PeriodicTask")

AddEntry = Callable[..., Any]


@pytest.fixture(scope="module")
def django_celery_beat(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """It is installed, with its tables, while the tests of a module last. No other test sees it."""
    with modify_settings(INSTALLED_APPS={"append": "django_celery_beat"}), django_db_blocker.unblock():
        models = [apps.get_app_config("django_celery_beat").get_model(name) for name in MODELS]
        with connection.schema_editor() as editor:
            for model in models:
                editor.create_model(model)
        yield
        with connection.schema_editor() as editor:
            for model in reversed(models):
                editor.delete_model(model)
        for model in filter(site.is_registered, models):  # by its admin module, which pages would look for
            site.unregister(model)


@pytest.fixture
def add_entry(django_celery_beat: None, db: None) -> AddEntry:
    """Save a PeriodicTask. `crontab`, `interval` and the like are the fields of its schedule; `last_run_at` and
    `date_changed` stay as they are given."""

    def add(
        name: str, *, last_run_at: datetime | None = None, date_changed: datetime | None = None, **values: Any
    ) -> Any:
        model: Any = apps.get_app_config("django_celery_beat").get_model("PeriodicTask")
        for field in ("crontab", "interval", "clocked", "solar"):
            if field in values:
                values[field] = model._meta.get_field(field).related_model._default_manager.create(**values[field])
        row = model._default_manager.create(**({"name": name, "task": NOTE} | values))
        moments = {"last_run_at": last_run_at} | ({"date_changed": date_changed} if date_changed else {})
        model._default_manager.filter(pk=row.pk).update(**moments)
        return row

    return add


@pytest.fixture
def redbeat_app(redis_url: str) -> Iterator[Celery]:
    """The tests' app with an own configuration of redbeat, in the test's empty Redis."""
    app: Any = app_or_default()
    app.conf.redbeat_redis_url, app.conf.redbeat_redis_options = redis_url, {"socket_timeout": 10}
    app.conf.redbeat_key_prefix = "old:"
    yield app
    if (client := getattr(app, "redbeat_redis", None)) is not None:
        client.close()
    for name in ("redbeat_redis", "redbeat_conf"):
        if hasattr(app, name):
            delattr(app, name)
    for name in ("redbeat_redis_url", "redbeat_redis_options", "redbeat_key_prefix"):
        app.conf.pop(name, None)


@pytest.fixture
def beat_schedule() -> Iterator[dict[str, Any]]:
    """The static schedule of the tests' app, to put entries into."""
    app: Any = app_or_default()
    entries: dict[str, Any] = {}
    app.conf.beat_schedule = entries
    yield entries
    app.conf.beat_schedule = {}
