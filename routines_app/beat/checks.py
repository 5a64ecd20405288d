"""System checks of the static `beat_schedule`: entries that would not be routines, or not as they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from celery import Celery
from celery.app import app_or_default
from django.core import checks
from django.core.checks import CheckMessage, Tags, register

from routines_app.conf import get_settings
from routines_app.verbs.moving.beat_schedule import read_beat_schedule
from routines_app.verbs.moving.celery_options import CARRIED

MEND = "Mend it, or set ROUTINES = {'IMPORT_BEAT_SCHEDULE': False} and leave the schedule to Celery's beat."


@register(Tags.compatibility)
def check_beat_schedule(**_: Any) -> list[CheckMessage]:
    """Reads the schedule; asks neither a database nor a broker."""
    try:
        app, wanted = app_or_default(), get_settings().import_beat_schedule
    except Exception:  # noqa: BLE001 - settings that are wrong have messages of their own, or end the process by themselves
        return []
    try:
        return list(_messages(app)) if wanted else []
    except Exception as error:  # noqa: BLE001 - of a schedule that is none, or of Celery's settings
        told = f"The beat_schedule is not imported: {type(error).__name__}: {error}."
        return [checks.Error(told, hint=MEND, id="routines.E016")]


def _messages(app: Celery) -> Iterator[CheckMessage]:
    found = read_beat_schedule(app)
    for name, why in found.refused.items():
        yield checks.Error(
            f"The beat_schedule entry {name!r} is not imported: {why}.",
            hint=MEND,
            id="routines.E016",
        )
    for name, options in found.left_out.items():
        yield checks.Warning(
            f"The beat_schedule entry {name!r} has options that are not carried: {', '.join(options)}.",
            hint=f"What is carried: {', '.join(sorted(CARRIED))}.",
            id="routines.W016",
        )
