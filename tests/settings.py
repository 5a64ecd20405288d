"""Django settings of the tests and of the processes that acceptance tests start.

ROUTINES_TEST_DATABASE chooses the database of a test run: postgresql (the embedded server, the default),
sqlite or mariadb (the run's own where it is installed, else 127.0.0.1:3306). A started process is told where its
servers are by ROUTINES_TEST_DATABASE_URL, ROUTINES_TEST_REDIS_URL and ROUTINES_TEST_BROKER_URL.
ROUTINES_TEST_SETTINGS, in JSON, overrides any setting.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import dj_database_url
import pymysql

import project  # noqa: F401 - as with a project's settings, its Celery app is there before anybody asks for one
from routines_app.conf import sqlite_options
from tests.mariadb import mariadb_port
from tests.servers import shared_ports

pymysql.install_as_MySQLdb()

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")  # gw0, gw1 …; empty without xdist
WORKER_NUMBER = int(WORKER.removeprefix("gw")) + 1 if WORKER else 0
POSTGRES_PORT, REDIS_PORT = shared_ports()


def database_url() -> str:
    if url := os.environ.get("ROUTINES_TEST_DATABASE_URL"):
        return url
    urls = {
        "postgresql": f"postgres://postgres@127.0.0.1:{POSTGRES_PORT}/routines",
        "mariadb": f"mysql://root@127.0.0.1:{mariadb_port()}/routines",
        "sqlite": f"sqlite:///{tempfile.gettempdir()}/routines-tests.sqlite3",
    }
    return urls[os.environ.get("ROUTINES_TEST_DATABASE", "postgresql")]


def database(url: str) -> dict[str, Any]:
    """The DATABASES entry for an address; acceptance tests point the test process at their own with it."""
    entry: dict[str, Any] = dict(dj_database_url.parse(url))
    run = os.environ["ROUTINES_TEST_POSTGRES_PORT"]  # differs between test runs on one machine
    entry["TEST"] = {"NAME": f"test_routines_{run}"}
    if entry["ENGINE"].endswith("sqlite3"):
        entry["OPTIONS"] = sqlite_options()
        # A file, not memory: the tests' threads and processes meet in it as they would in production.
        entry["TEST"]["NAME"] = str(Path(tempfile.gettempdir(), f"test_routines_{run}.sqlite3"))
    if entry["ENGINE"].endswith("mysql"):
        entry["OPTIONS"] = {"charset": "utf8mb4", "isolation_level": "read committed"}
    return entry


def broker_options(url: str) -> dict[str, Any]:
    if url.startswith("redis"):
        return {"socket_timeout": 5, "socket_connect_timeout": 2}
    return {"confirm_publish": True}


DATABASES = {"default": database(database_url())}
REDIS_URL = os.environ.get("ROUTINES_TEST_REDIS_URL", f"redis://127.0.0.1:{REDIS_PORT}/{WORKER_NUMBER}")

SECRET_KEY = "tests"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ROOT_URLCONF = "project.urls"
STATIC_URL = "static/"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_celery_results",
    "routines_app",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

CELERY_BROKER_URL = os.environ.get("ROUTINES_TEST_BROKER_URL", REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_RESULT_BACKEND = "django-db"
CELERY_RESULT_EXPIRES = None  # or every stack would have Celery's own clean-up, which fires at four in the morning
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False
CELERY_BROKER_TRANSPORT_OPTIONS = broker_options(CELERY_BROKER_URL)

# Channels ignore Redis database numbers, so parallel test workers also need prefixes of their own.
ROUTINES = {"REDIS_URL": REDIS_URL, "KEY_PREFIX": f"routines-{WORKER}:"}

globals().update(json.loads(os.environ.get("ROUTINES_TEST_SETTINGS", "{}")))
