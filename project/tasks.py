"""Plain Celery tasks for the demo. Nothing in them knows about routines, except where they ask for their run."""

from __future__ import annotations

import time
from typing import Any

from celery import shared_task

from project.shops import CLOSED
from routines_app import current_run


@shared_task
def quick(subject: str = "world") -> str:
    """Done at once."""
    return f"hello, {subject}"


@shared_task
def slow(seconds: float = 5.0) -> str:
    """Sleeps, as a task does that waits for somebody else."""
    time.sleep(seconds)
    return f"slept {seconds:g} s"


@shared_task
def flaky(failures: int = 2) -> str:
    """Fails in its first attempts and then succeeds: retries make it look reliable."""
    run = current_run()
    attempt = run.attempt if run is not None else 1
    if attempt <= failures:
        raise ConnectionError(f"attempt {attempt}: the other side did not answer")
    return f"worked in attempt {attempt}"


@shared_task
def failing() -> None:
    """Never works: a routine with `park_after` is taken out of service."""
    raise ValueError("the feed has not been readable since it moved")


@shared_task
def reporting(steps: int = 5, seconds: float = 5.0) -> dict[str, Any]:
    """Reports its progress and keeps log lines with the run."""
    run = current_run()
    for step in range(1, steps + 1):
        time.sleep(seconds / steps)
        if run is not None:
            run.progress(step, steps, f"chapter {step}")
            run.log(f"finished chapter {step} of {steps}")
    return {"chapters": steps}


@shared_task
def exclusive(seconds: float = 2.0) -> dict[str, int | None]:
    """Must not run twice at once; returns its fence, which a storage behind it could check."""
    time.sleep(seconds)
    run = current_run()
    return {"fence": run.fence if run is not None else None}


@shared_task
def plan_crawl(shop: str) -> dict[str, Any]:
    """The first phase of a shop's cycle: what there is to fetch. One that is closed never gets further."""
    if shop == CLOSED:
        raise ConnectionError(f"nobody answers in {shop}")
    return {"shop": shop, "pages": 2 + len(shop)}


@shared_task
def build_catalogue(shop: str, seconds: float = 1.0) -> str:
    """The second one: takes a while."""
    time.sleep(seconds)
    return f"built the catalogue of {shop}"


@shared_task
def check_catalogue(shop: str) -> str:
    """The last one: with it the cycle is whole."""
    return f"{shop} is fresh"
