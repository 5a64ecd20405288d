"""Another scheduler beside ours: entries of django-celery-beat that are enabled, in the ledger's own database."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connections

from routines_app.models import MovedEntry
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.health.notices.nodes import first_of, left_out
from routines_app.verbs.health.notices.notice import MOST_COUNTED, Notice, NoticeKind, NoticeLevel
from routines_app.verbs.moving.beat_schedule import CLEANUP
from routines_app.verbs.moving.fired_twice import firing
from routines_app.verbs.moving.old_entries import OldScheduler

TABLE = "django_celery_beat_periodictask"


def other_scheduler() -> Iterator[Notice]:
    """What its own beat would fire: beside a routine that fires too, or alone. Entries whose routine is in shadow are
    meant to be enabled."""
    enabled = _enabled()
    if not enabled:
        return
    twice = sorted(set(firing(enabled)))
    if twice:
        yield Notice(
            kind=NoticeKind.FIRED_TWICE,
            level=NoticeLevel.ALARM,
            count=min(len(twice), MOST_COUNTED),
            about=first_of(twice),
            more=left_out(twice),
        )
    left = enabled.keys() - set(twice) - _in_shadow(list(enabled))
    if left:
        yield Notice(kind=NoticeKind.OTHER_SCHEDULER, level=NoticeLevel.WARNING, count=len(left))


def _enabled() -> dict[str, str]:
    """The tasks of its first enabled entries, by name; Celery's own clean-up is there wherever its beat has ever run.

    By the table, not by the app: its beat may be another deployment's, and this project have left the app out.
    """
    connection = connections[ledger_alias()]
    if TABLE not in connection.introspection.table_names():
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, task FROM django_celery_beat_periodictask WHERE enabled AND task <> %s LIMIT %s",
            [CLEANUP, MOST_COUNTED],
        )
        return dict(cursor.fetchall())


def _in_shadow(names: list[str]) -> set[str]:
    moved = MovedEntry.objects.using(ledger_alias()).filter(scheduler=OldScheduler.DJANGO_CELERY_BEAT, key__in=names)
    return set(moved.filter(routine__shadow=True).values_list("key", flat=True))
