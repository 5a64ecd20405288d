"""The smallest Django project with routines, in one file; the wheel's test copies it somewhere else and runs it."""

from __future__ import annotations

from pathlib import Path

import django
from celery import Celery
from django.conf import settings

from routines_app.conf import sqlite_options

settings.configure(
    SECRET_KEY="wheel",
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": Path(__file__).with_name("wheel.sqlite3"),
            "OPTIONS": sqlite_options(),
        }
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django_celery_results",
        "routines_app",
    ],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    CELERY_BROKER_URL="redis://127.0.0.1:1/0",  # nobody is there, and nobody is needed
    CELERY_RESULT_BACKEND="django-db",
    CELERY_TASK_ALWAYS_EAGER=True,
)
app = Celery("wheel_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.set_default()
django.setup()


@app.task(name="wheel_project.add")
def add(x: int, y: int) -> int:
    return x + y


def main() -> None:
    from django.core.management import call_command

    from routines_app import service

    call_command("migrate", verbosity=0)
    service.create_routine("sum", task="wheel_project.add", every="1h", args=[2, 3])
    run = service.run_now("sum")
    run.refresh_from_db()
    print(run.status, run.result)


if __name__ == "__main__":
    main()
