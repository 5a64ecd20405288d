"""Admin: how long each page takes with 1,000,000 routines and 5,000,000 runs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from benchmarks.admin_pages import fragments, pages
from benchmarks.bench import Bench
from benchmarks.deployment import Deployment
from benchmarks.figures import Figure, ours_at_most
from benchmarks.skewed import fill

MOST_QUESTIONS = 15
PAGE_MS = 300
FRAGMENT_MS = 50
KEPT = "BENCH_KEPT_FLEET"
"""Names a database of the server at BENCH_DATABASE_URL that is filled once, and measured again as it is."""


def measure(bench: Bench) -> Iterator[Figure]:
    routines, runs = bench.size((1_000_000, 5_000_000), (1_000, 5_000))
    bench.progress.begin(f"admin with {routines:,} routines and {runs:,} runs")
    kept = os.environ.get(KEPT)
    with bench.kept_deployment(kept) if kept else bench.deployment() as at, at.orm():
        prepare(bench, at, routines, runs)
        most = Cost(0, 0, 0)
        for label, path, bar in measured(at):
            bench.say(label)
            found = cost_of(path, bench.size(7, 2))
            most = max(most, found, key=lambda cost: cost.questions)
            yield Figure(name=f"admin: {label}", ours=found.ms, unit="ms", bar=ours_at_most(bar))
        name = "admin: most questions of a page"
        yield Figure(name=name, ours=most.questions, unit="", bar=ours_at_most(MOST_QUESTIONS))


def prepare(bench: Bench, at: Deployment, routines: int, runs: int) -> None:
    """Fill the tables, unless they were kept; and let parts of names be found, where the server has pg_trgm."""
    from routines_app import service

    if not at.count("SELECT count(*) FROM routines_pool"):
        fill(at, routines, runs, bench.say)
    at.sql("UPDATE routines_node SET seen_at = now()")
    with suppress(service.NotAllowed):
        service.index_search()


def measured(at: Deployment) -> Iterator[tuple[str, str, float]]:
    yield from ((label, path, PAGE_MS) for label, path in pages(at))
    yield from ((label, path, FRAGMENT_MS) for label, path in fragments(at))


class Cost(NamedTuple):
    """What a page costs: the median of its time, and of this process's share of it."""

    ms: float
    own_ms: float
    questions: int


def cost_of(path: str, times: int) -> Cost:
    """Of so many requests, made one after another."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("bench"))
    client.get(path)  # templates are read once per process, and what pages share is asked once for all
    with CaptureQueriesContext(connection) as asked:
        client.get(path)
    questions = len(asked)  # the next request empties the log
    found, own = [], []
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        response = client.get(path)
        found.append((time.perf_counter() - began) * 1000)
        own.append((time.process_time() - worked) * 1000)
        if response.status_code != 200:
            raise RuntimeError(f"{path} answered {response.status_code}")
    return Cost(statistics.median(found), statistics.median(own), questions)
