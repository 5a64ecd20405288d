"""How people call the tables and columns that the admin shows, in the language of whoever looks.

The names are put on the models here, beside their declarations and not in them: there each would be a part of the
migrations, and a better word a migration of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Model
from django.utils.translation import pgettext_lazy

from routines_app.models.pause_batch import PauseBatch
from routines_app.models.pool import Pool
from routines_app.models.rotation import Rotation
from routines_app.models.routine import Routine
from routines_app.models.run import RoutineRun

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

TABLES: dict[type[Model], tuple[_StrPromise, _StrPromise]] = {
    PauseBatch: (pgettext_lazy("table", "pause batch"), pgettext_lazy("table", "pause batches")),
    Pool: (pgettext_lazy("table", "pool"), pgettext_lazy("table", "pools")),
    Rotation: (pgettext_lazy("table", "rotation"), pgettext_lazy("table", "rotations")),
    Routine: (pgettext_lazy("table", "routine"), pgettext_lazy("table", "routines")),
    RoutineRun: (pgettext_lazy("table", "routine run"), pgettext_lazy("table", "routine runs")),
}
"""One of them, and many."""

COLUMNS: dict[type[Model], dict[str, _StrPromise]] = {
    Pool: {
        "name": pgettext_lazy("field", "name"),
        "max_concurrent": pgettext_lazy("field", "max concurrent"),
        "is_default": pgettext_lazy("field", "is default"),
    },
    Routine: {
        "name": pgettext_lazy("field", "name"),
        "description": pgettext_lazy("field", "description"),
        "group": pgettext_lazy("field", "group"),
        "task": pgettext_lazy("field", "task"),
        "queue": pgettext_lazy("field", "queue"),
        "status": pgettext_lazy("field", "status"),
        "trigger_kind": pgettext_lazy("field", "trigger kind"),
        "cron": pgettext_lazy("field", "cron"),
        "priority": pgettext_lazy("field", "priority"),
        "emphasis": pgettext_lazy("field", "emphasis"),
        "parent": pgettext_lazy("field", "parent"),
        "concurrency_policy": pgettext_lazy("field", "concurrency policy"),
        "pool": pgettext_lazy("field", "pool"),
        "catch_up_policy": pgettext_lazy("field", "catch up policy"),
        "catch_up_limit": pgettext_lazy("field", "catch up limit"),
        "max_attempts": pgettext_lazy("field", "max attempts"),
        "retry_jitter": pgettext_lazy("field", "retry jitter"),
        "park_after": pgettext_lazy("field", "park after"),
        "keep_result": pgettext_lazy("field", "keep result"),
        "rotation": pgettext_lazy("field", "rotation"),
    },
    RoutineRun: {
        "attempt": pgettext_lazy("field", "attempt"),
        "worker": pgettext_lazy("field", "worker"),
    },
}
"""Those that forms and lists call by the name of their column; the others have names of their own there."""


def name_all() -> None:
    """Put the names where Django looks for them."""
    for model, (one, many) in TABLES.items():
        model._meta.verbose_name, model._meta.verbose_name_plural = one, many
    for model, columns in COLUMNS.items():
        for column, name in columns.items():
            model._meta.get_field(column).verbose_name = name  # type: ignore[union-attr]
