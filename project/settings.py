"""Settings of the runnable project. Copy what is marked as needed into your own.

What the environment does not say is closed: no DEBUG, a secret key of its own, only this machine as a host.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dj_database_url

from project.secret_key import kept_secret_key
from routines_app.conf import sqlite_options

BASE_DIR = Path(__file__).resolve().parent.parent


def database() -> dict[str, Any]:
    entry: dict[str, Any] = dict(dj_database_url.config(default=f"sqlite:///{BASE_DIR / 'project.sqlite3'}"))
    if entry["ENGINE"].endswith("sqlite3"):
        entry["OPTIONS"] = sqlite_options()  # needed on SQLite: beat, workers and web write side by side
    return entry


def secret_key() -> str:
    """From the environment, which several machines can share; else one that is made and kept beside the database."""
    database = Path(DATABASES["default"]["NAME"])  # on SQLite a file, else a name
    directory = database.parent if database.is_absolute() else BASE_DIR
    return os.environ.get("SECRET_KEY") or kept_secret_key(directory / ".secret_key")


DATABASES = {"default": database()}

SECRET_KEY = secret_key()
DEBUG = os.environ.get("DEBUG") == "1"
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")
ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_celery_results",  # needed: results of runs, under the run's id
    "routines_app",  # needed
    "project",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",  # static files behind any web server, with DEBUG off
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",  # the admin in the language that the browser asks for
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
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
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # those of the apps as they are, without collectstatic
# Without DEBUG Django would only mail its errors to administrators, and there are none.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
USE_TZ = True
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Of leases. With nothing given they have a database of their own beside the broker's, where a queue of any name is a
# key. REDIS_URL alone serves both: give BROKER_URL as well to keep them apart.
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/1")

# Celery: needed. Messages are acknowledged early because the run row, not the message, is the work; workers
# take one message at a time; socket time-outs keep a frozen broker from hanging whoever publishes.
CELERY_BROKER_URL = os.environ.get("BROKER_URL") or os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"socket_timeout": 10, "socket_connect_timeout": 5}
    if CELERY_BROKER_URL.startswith("redis")
    else {"confirm_publish": True}
)
CELERY_RESULT_BACKEND = "django-db"
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 2.0  # seconds that a worker told to end at once leaves to its runs

ROUTINES = {
    "REDIS_URL": REDIS_URL,
    "SEEDS": ["project.shops.members"],
    "HEARTBEAT_FILE": os.environ.get("HEARTBEAT_FILE", ""),  # for liveness probes
}
