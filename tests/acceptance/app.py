"""The Celery app of the tests: what `celery -A tests.acceptance.app beat|worker` loads."""

from __future__ import annotations

import os

from celery import Celery

import project  # noqa: F401 - its own app, made when the URLs are loaded, must not become the current one after ours

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

app = Celery("routines-tests")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.imports = ("tests.acceptance.tasks", *os.environ.get("ROUTINES_TEST_IMPORTS", "").split())
app.autodiscover_tasks()
app.set_default()

WATCHED = {"ROUTINES_CRASH_AT", "ROUTINES_TICK_LOG", "ROUTINES_LOOK_LOG", "ROUTINES_LOST_SECONDS"}
if WATCHED & os.environ.keys():
    import tests.acceptance.crash
if "ROUTINES_TELL_SECONDS" in os.environ:
    import tests.acceptance.hearing  # noqa: F401 - this process has receivers
