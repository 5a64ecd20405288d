"""The Celery app of the measured processes: ours, the peers' and the bare ones."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")

READY = "ready to be measured at"

app = Celery("benchmarks")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.imports = ("benchmarks.tasks",)
app.autodiscover_tasks()
app.set_default()

# redbeat sleeps past what is due next unless its longest sleep is short, and wants its lock to outlast that.
app.conf.redbeat_lock_timeout = int(os.environ.get("BENCH_REDBEAT_LOCK_SECONDS", "60"))
if "BENCH_LOOP_SECONDS" in os.environ:
    app.conf.beat_max_loop_interval = float(os.environ["BENCH_LOOP_SECONDS"])


@beat_init.connect
@worker_ready.connect
def say_ready(**_: Any) -> None:
    """Say when: for a beat this is the moment before its first tick. Past Celery's redirection of the output."""
    print(f"{READY} {time.time()}", file=sys.__stdout__, flush=True)
