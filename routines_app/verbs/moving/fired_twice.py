"""Entries of django-celery-beat that it would send beside a routine of ours."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db.models import Q

from routines_app.core.words import RoutineStatus
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.moving.beat_schedule import CLEANUP
from routines_app.verbs.moving.old_entries import OldScheduler
from routines_app.verbs.rotations.finding import batches


def fired_twice() -> list[str]:
    """The names of those that are enabled while the routine that was made of one, or has its name and its task, fires
    too. Empty without django-celery-beat."""
    if not apps.is_installed("django_celery_beat"):
        return []
    rows = apps.get_app_config("django_celery_beat").get_model("PeriodicTask")._default_manager.filter(enabled=True)
    enabled = dict(rows.exclude(task=CLEANUP).values_list("name", "task"))
    return sorted(set(firing(enabled)))


def firing(enabled: dict[str, str]) -> Iterator[str]:
    """Those of the entries, tasks by name, whose routine fires too; one may come twice."""
    routines = Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.ACTIVE, shadow=False)
    for names in batches(sorted(enabled)):
        of_entries = Q(moved_entry__scheduler=OldScheduler.DJANGO_CELERY_BEAT, moved_entry__key__in=names)
        yield from routines.filter(of_entries).values_list("moved_entry__key", flat=True)
        for name, task in routines.filter(name__in=names).values_list("name", "task"):
            if enabled.get(name) == task:
                yield name
