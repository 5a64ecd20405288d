"""The time that rows give themselves: that of an id, or of an edit.

It is the ledger's. The clock that knows it is above the models; it is handed down when the app is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import models
from django.utils import timezone

_source: Callable[[], datetime] = timezone.now


def take_from(source: Callable[[], datetime]) -> None:
    """From now on this tells the time."""
    global _source
    _source = source


def now() -> datetime:
    """The ledger's present, aware."""
    return _source()


class EditedAt(models.DateTimeField):  # type: ignore[type-arg]
    """The time of the last `save`, in the ledger's time; to migrations a `DateTimeField(auto_now=True)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"auto_now": True}))

    def pre_save(self, model_instance: models.Model, add: bool) -> datetime:  # noqa: ARG002 - Django's signature
        moment = now()
        setattr(model_instance, self.attname, moment)
        return moment

    def deconstruct(self) -> tuple[str, str, Any, dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs
