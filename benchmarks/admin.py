"""Admin: how long each page takes with 100,000 routines and 1,000,000 runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.deployment import Deployment, soon
from benchmarks.figures import Figure, ours_at_most
from benchmarks.fill import DAY_SECONDS, add_routines, add_runs


def measure(bench: Bench) -> Iterator[Figure]:
    routines, runs = bench.size((100_000, 1_000_000), (1_000, 5_000))
    bench.progress.begin(f"admin with {routines:,} routines and {runs:,} runs")
    with bench.deployment() as at, at.orm():
        add_routines(at, routines, first=soon(DAY_SECONDS / 2), step_ms=100)
        add_runs(at, runs, routines)
        for label, path in pages(at).items():
            bench.say(label)
            yield Figure(
                name=f"admin: {label}", ours=median_ms(path, bench.size(7, 2)), unit="ms", bar=ours_at_most(300)
            )


def pages(at: Deployment) -> dict[str, str]:
    from django.urls import reverse

    routine = at.count("SELECT max(id) FROM routines_routine")
    run = at.sql("SELECT max(id::text) FROM routines_routinerun")[0][0]
    routines, runs = reverse("admin:routines_routine_changelist"), reverse("admin:routines_routinerun_changelist")
    return {
        "routines": routines,
        "routines, searched": f"{routines}?q=bench-77",
        "routines, filtered": f"{routines}?status__exact=ACTIVE",
        "routine": reverse("admin:routines_routine_overview", args=[routine]),
        "routine's form": reverse("admin:routines_routine_change", args=[routine]),
        "runs": runs,
        "runs, filtered": f"{runs}?status__exact=FAILED",
        "run": reverse("admin:routines_routinerun_change", args=[run]),
        "fleet": reverse("admin:routines_fleet"),
    }


def median_ms(path: str, times: int) -> float:
    """Of so many requests, made one after another."""
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("bench"))
    client.get(path)  # templates and plans are read once per process
    found = []
    for _ in range(times):
        began = time.perf_counter()
        response = client.get(path)
        found.append((time.perf_counter() - began) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.status_code}")
    return statistics.median(found)
