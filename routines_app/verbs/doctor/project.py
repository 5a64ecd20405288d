"""The project's settings: another scheduler beside ours, and what Django's system checks say about us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from celery.app import app_or_default
from django.core.checks import ERROR, CheckMessage, registry
from django.db import Error, connections

from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.doctor.answers import Answer, Level, ok, warning

OURS = ("routines", "routines_app.beat.scheduler:RoutinesScheduler", "routines_app.beat.scheduler.RoutinesScheduler")
CELERYS_OWN = "celery.beat:PersistentScheduler"
OTHERS_TABLE = "django_celery_beat_periodictask"


def scheduler() -> Iterator[Answer]:
    """A beat that is started without `-S routines` takes what the settings name."""
    named = str(app_or_default().conf.beat_scheduler or CELERYS_OWN)
    answers = []
    if named not in (*OURS, CELERYS_OWN):
        answers.append(
            warning(f"beat_scheduler is {named}", "set CELERY_BEAT_SCHEDULER = 'routines': a beat without -S runs that")
        )
    if enabled := _enabled_entries():
        answers.append(
            warning(
                f"django-celery-beat has {enabled} enabled {'entry' if enabled == 1 else 'entries'}",
                "make routines of them and disable them: a beat of its own would fire them as well",
            )
        )
    if not answers:
        answers.append(ok("only ours" if named in OURS else "only ours: beats are started with -S routines"))
    yield from answers


def _enabled_entries() -> int:
    """In whichever database: the ledger may have one of its own. Two aliases of one database are no two tables."""
    found = [_enabled_in(ledger_alias())]
    for alias in connections:
        with suppress(Error):  # a database that is none of ours may be away
            found.append(_enabled_in(alias))
    return max(found)


def _enabled_in(alias: str) -> int:
    connection = connections[alias]
    if OTHERS_TABLE not in connection.introspection.table_names():
        return 0
    with connection.cursor() as cursor:
        # Celery's own clean-up of results is there wherever one of its beats has ever run.
        cursor.execute(
            "SELECT COUNT(*) FROM django_celery_beat_periodictask WHERE enabled AND task <> %s",
            ["celery.backend_cleanup"],
        )
        return int(cursor.fetchone()[0])


def system_checks() -> Iterator[Answer]:
    """Ours alone, those of a deployment included: each that says something is an answer."""
    messages = [message for message in _messages() if not message.is_silenced()]
    if not messages:
        yield ok("they find nothing")
    for message in messages:
        level = Level.ERROR if message.level >= ERROR else Level.WARNING
        yield Answer(level, f"{message.id}: {message.msg}", str(message.hint or ""))


def _messages() -> Iterator[CheckMessage]:
    for check in registry.registry.get_checks(include_deployment_checks=True):
        if check.__module__.startswith("routines_app."):
            yield from check(app_configs=None, databases=[ledger_alias()])
