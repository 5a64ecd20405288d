"""Pools."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from routines_app.models import Pool
from tests.integration.admin.pages import told


def test_raising_a_ceiling_wakes_the_beats(operator: Client, django_capture_on_commit_callbacks: object) -> None:
    """Waiting runs go at once, not at the next look."""
    pool = Pool.objects.create(name="p", max_concurrent=1)
    address = reverse("admin:routines_pool_change", args=[pool.pk])
    with django_capture_on_commit_callbacks() as callbacks:  # type: ignore[operator]
        operator.post(address, {"name": "p", "max_concurrent": 5})
    assert "wake_beats" in [callback.__name__ for callback in callbacks]


def test_a_pool_that_the_service_refuses_is_a_message(operator: Client) -> None:
    """Django's form lets control characters through; nothing is written, and the page says why."""
    address = reverse("admin:routines_pool_add")
    response = operator.post(address, {"name": "be\x07ll", "max_concurrent": 1}, follow=True)
    assert "without control characters" in told(response)[0]
    assert not Pool.objects.exists()
    response = operator.post(address, {"name": "bell", "max_concurrent": 1}, follow=True)
    assert Pool.objects.get().max_concurrent == 1
    assert "was added successfully" in told(response)[0]
