"""Addresses of pages that need something made for them first, each with what it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import PauseBatch, Routine
from routines_app.protocol.ledger import clock

Pages = dict[str, Callable[[], Any]]


def runs_asked(routine: Routine) -> dict[str, str]:
    """Each filter at once."""
    words = {"pool": "broad", "queue": "slow", "worker": "w", "task": "t", "reason": "timeout", "status": "FAILED"}
    return words | {"q": routine.name, "final": "1", "from": "2h ago", "until": "now", "error": "ValueError: #"}


def backfill_pages(client: Client, routine: Routine) -> Pages:
    """Those of a batch of sixty."""
    end = clock.now()
    runs = service.backfill(routine, end - timedelta(minutes=1), end)
    given = [routine.pk, service.batch_of(runs[0].idempotency_key)]
    names = ("routines_routine_backfill", "routines_routine_backfill_live")
    return {name: lambda name=name: client.get(reverse(f"admin:{name}", args=given)) for name in names}  # type: ignore[misc]


def filter_pages(client: Client) -> Pages:
    """What saves and removes a filter of each list."""
    acts = [(model, act) for model in ("routine", "routinerun") for act in ("save", "remove")]
    return {f"routines_{model}_{act}_filter": saved(client, model, act) for model, act in acts}


def saved(client: Client, model: str, act: str) -> Callable[[], Any]:
    return lambda: client.post(
        reverse(f"admin:routines_{model}_{act}_filter"), {"name": "n", "query": "q=a", "filter": "1"}
    )


def batch_pages(client: Client) -> Pages:
    """Those of a batch with some routines."""
    batch = PauseBatch.objects.get_or_create(name="broad", defaults={"up_to_id": 0})[0]
    Routine.objects.filter(name__startswith="child-2").update(status="PAUSED", pause_batch=batch)
    new = reverse("admin:routines_batch_new") + "?filter=status__exact%3DACTIVE"
    return {
        "routines_batches": lambda: client.get(reverse("admin:routines_batches")),
        "routines_batch_new": lambda: client.get(new),
        "routines_batch": lambda: client.get(reverse("admin:routines_batch", args=[batch.pk])),
    }
