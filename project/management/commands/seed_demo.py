"""`manage.py seed_demo`: the demo's routines; what is already there stays as it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from project.demo_routines import POOLS, ROTATIONS, ROUTINES
from routines_app import service
from routines_app.models import Pool, Routine


class Command(BaseCommand):
    help = "Create the demo's routines; those that exist already are left alone."

    def handle(self, *args: Any, **options: Any) -> None:
        for name, ceiling in POOLS.items():
            Pool.objects.get_or_create(name=name, defaults={"max_concurrent": ceiling})
        existing = set(Routine.objects.values_list("name", flat=True))
        missing = [wanted for wanted in ROUTINES if wanted["name"] not in existing]
        for wanted in missing:
            service.create_routine(**wanted)
        for wanted in ROTATIONS:
            if wanted["name"] not in existing:
                service.create_rotation(**wanted)
        self.use_the_verbs({wanted["name"] for wanted in missing})
        self.stdout.write(f"{len(missing)} routines created, {len(existing)} were there")

    def use_the_verbs(self, created: set[str]) -> None:
        """What is not a field but an act: hints, requests, pauses."""
        if "adaptive-poll" in created:
            why = {"reason": "a customer waits", "actor": "seed_demo"}
            service.propose_interval("adaptive-poll", "6s", ttl=timedelta(minutes=10), **why)
        if "polite-poll" in created:
            service.propose_factor(2, routine="polite-poll", ttl="10m", reason="their request", actor="seed_demo")
        if "rebuild-search-index" in created:
            service.run_now("rebuild-search-index", requested_by="seed_demo", idempotency_key="first-build")
        if "old-newsletter" in created:
            service.pause_routine("old-newsletter", reason="nobody reads it in August")
