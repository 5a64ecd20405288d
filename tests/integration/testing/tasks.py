"""Tasks as a project has them, for tests of what tests of projects stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Task, shared_task
from django.contrib.auth.models import Group
from django.db import transaction

seen: list[Any] = []
meanwhile: list[Callable[[], object]] = []
"""What the next body of `busy` does before it returns."""


@shared_task
def say(word: str = "hello") -> str:
    seen.append(word)
    return word


@shared_task
def busy() -> None:
    while meanwhile:
        meanwhile.pop(0)()


@shared_task
def fails(times: int = 1) -> str:
    """So often, and then no more."""
    seen.append("tried")
    if len(seen) <= times:
        raise ValueError(f"try {len(seen)}, with password=sesame")
    return "at last"


@shared_task(bind=True, max_retries=5)
def retries_itself(self: Task[..., Any]) -> str:
    if self.request.retries == 0:
        raise self.retry(countdown=60)
    return f"retries {self.request.retries}"


@shared_task
def leaves_something() -> None:
    transaction.on_commit(lambda: seen.append("committed"))
    transaction.on_commit(lambda: 1 / 0, robust=True)


@shared_task
def fails_at_the_commit() -> None:
    with transaction.atomic():
        transaction.on_commit(lambda: 1 / 0)
        transaction.on_commit(lambda: seen.append("committed"))


@shared_task
def breaks_a_rule() -> None:
    """A database error outside of any `atomic()`."""
    Group.objects.create(name="one")
    Group.objects.create(name="one")


def seed() -> list[dict[str, Any]]:
    """What a rotation is seeded by."""
    return [{"name": name, "args": [name]} for name in ("x", "y")]
