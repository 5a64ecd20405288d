"""Asking another scheduler for its entries. Its package is imported when it is asked for, and only then."""

from __future__ import annotations

from celery import Celery
from celery.app import app_or_default

from routines_app.verbs.moving import beat_schedule, from_django_celery_beat, from_redbeat
from routines_app.verbs.moving.old_entries import OldEntry, OldScheduler, Problem, Read

ENTRIES = {
    OldScheduler.DJANGO_CELERY_BEAT: from_django_celery_beat.entries,
    OldScheduler.REDBEAT: from_redbeat.entries,
    OldScheduler.BEAT_SCHEDULE: beat_schedule.entries,
}


def read_entries(scheduler: OldScheduler, app: Celery | None = None) -> Read:
    """Its entries, by name, and those that cannot be read. A scheduler that cannot be asked at all is refused."""
    found = list(ENTRIES[scheduler](app_or_default(app)))
    entries = [each for each in found if isinstance(each, OldEntry)]
    problems = [each for each in found if isinstance(each, Problem)]
    return Read(
        entries=tuple(sorted(entries, key=lambda entry: entry.key)),
        problems=tuple(sorted(problems, key=lambda problem: problem.key)),
    )
