"""Admin: how long each page takes with 100,000 routines and 1,000,000 runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.bench import Bench
from benchmarks.deployment import Deployment, soon
from benchmarks.figures import Figure, ours_at_most
from benchmarks.fill import DAY_SECONDS, add_routines, add_runs, skew_routines

MOST_QUESTIONS = 15
# No index leads to what these show: they look through the rows of the last days.
LONG = {"runs, by what set them off": 2_000, "runs, by reason": 2_000}


def measure(bench: Bench) -> Iterator[Figure]:
    routines, runs = bench.size((100_000, 1_000_000), (1_000, 5_000))
    bench.progress.begin(f"admin with {routines:,} routines and {runs:,} runs")
    with bench.deployment() as at, at.orm():
        add_routines(at, routines, first=soon(DAY_SECONDS / 2), step_ms=100)
        skew_routines(at)
        add_runs(at, runs, routines)
        most = 0
        for label, path in pages(at).items():
            bench.say(label)
            found = cost_of(path, bench.size(7, 2))
            most = max(most, found.questions)
            yield Figure(name=f"admin: {label}", ours=found.ms, unit="ms", bar=ours_at_most(LONG.get(label, 300)))
        yield Figure(name="admin: most questions of a page", ours=most, unit="", bar=ours_at_most(MOST_QUESTIONS))


def pages(at: Deployment) -> dict[str, str]:
    from django.urls import reverse

    routine = at.count("SELECT max(id) FROM routines_routine")
    run = at.sql("SELECT max(id::text) FROM routines_routinerun")[0][0]
    routines, runs = reverse("admin:routines_routine_changelist"), reverse("admin:routines_routinerun_changelist")
    return {
        "routines": routines,
        "routines, searched": f"{routines}?q=bench-77",
        "routines, filtered": f"{routines}?status__exact=ACTIVE",
        "routines, failing": f"{routines}?health=failing",
        "routines, paused by next fire": f"{routines}?status__exact=PAUSED&o=-4",
        "routines, by overlap": f"{routines}?concurrency_policy__exact=REPLACE",
        "routines, by priority": f"{routines}?priority__exact=LOW",
        "routines, late": f"{routines}?health=late",
        "routines, hinted": f"{routines}?health=hinted",
        "routines, task not registered": f"{routines}?task=unregistered",
        "routines, never ran": f"{routines}?ran=never",
        "routines, declared in code": f"{routines}?declared=code",
        "routines, by group and tag": f"{routines}?group=rare&tag=rare",
        "routines, searched in vain": f"{routines}?q=nowhere",
        "routines, last page": f"{routines}?p={_last_page(at, 'routines_routine')}",
        "routines, by next fire": f"{routines}?o=4",
        "routine": reverse("admin:routines_routine_overview", args=[routine]),
        "routine's form": reverse("admin:routines_routine_change", args=[routine]),
        "runs": runs,
        "runs, filtered": f"{runs}?status__exact=FAILED",
        "runs, by what set them off": f"{runs}?trigger__exact=manual",
        "runs, by reason": f"{runs}?reason=overlap",
        "runs, last page": f"{runs}?p={_last_page(at, 'routines_routinerun')}",
        "run": reverse("admin:routines_routinerun_change", args=[run]),
        "run, live": reverse("admin:routines_routinerun_live", args=[run]),
        "fleet": reverse("admin:routines_fleet"),
        "fleet, live": reverse("admin:routines_fleet_live"),
        "plan of leases": reverse("admin:routines_plan"),
        "pools": reverse("admin:routines_pool_changelist"),
        "a verb's page": reverse("admin:routines_routine_verb", args=[routine, "pause"]),
    }


def _last_page(at: Deployment, table: str) -> int:
    """Of a list: fifty rows make a page, and nobody can leaf beyond ten thousand."""
    return min(10_000, at.count(f"SELECT count(*) FROM {table}")) // 50


class Found(NamedTuple):
    """What a page cost."""

    ms: float
    questions: int


def cost_of(path: str, times: int) -> Found:
    """Of so many requests, made one after another."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("bench"))
    with CaptureQueriesContext(connection) as asked:  # templates and plans are read once per process
        client.get(path)
    questions = len(asked)  # the next request empties the log
    found = []
    for _ in range(times):
        began = time.perf_counter()
        response = client.get(path)
        found.append((time.perf_counter() - began) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.status_code}")
    return Found(statistics.median(found), questions)
