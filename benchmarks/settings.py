"""Django settings of the measured processes; BENCH_* in the environment says where they belong.

BENCH_SETTINGS, in JSON, overrides any setting.
"""

from __future__ import annotations

import json
import os

import dj_database_url

DATABASES = {"default": dict(dj_database_url.parse(os.environ["BENCH_PROCESS_DATABASE"]))}
REDIS_URL = os.environ["BENCH_PROCESS_REDIS"]

SECRET_KEY = "benchmarks"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "benchmarks.urls"
STATIC_URL = "static/"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "django_celery_results",
    "routines_app",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
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

# The same for everybody, and what makes the peers fast: no results unless a scenario asks for them.
CELERY_BROKER_URL = os.environ.get("BENCH_PROCESS_BROKER", REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_EXPIRES = None  # no entry of Celery's own for the clean-up
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False

ROUTINES = {"REDIS_URL": REDIS_URL, "KEY_PREFIX": os.environ["BENCH_PROCESS_PREFIX"]}

globals().update(json.loads(os.environ.get("BENCH_SETTINGS", "{}")))
