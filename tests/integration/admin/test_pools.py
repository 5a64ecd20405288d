"""Pools."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from routines_app.models import Pool


def test_raising_a_ceiling_wakes_the_beats(operator: Client, django_capture_on_commit_callbacks: object) -> None:
    """Waiting runs go at once, not at the next look."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    address = reverse("admin:routines_pool_change", args=[pool.pk])
    with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
        operator.post(address, {"name": "p", "max_concurrent": 5})
    assert "wake_beats" in [callback.__name__ for callback in callbacks]
