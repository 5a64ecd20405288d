"""System checks of moving over."""

from __future__ import annotations

import pytest
from celery.app import app_or_default

from routines_app import service
from routines_app.moving_checks import check_beat_scheduler, check_fired_twice
from tests.integration.conftest import MONDAY, NOTE
from tests.integration.old_schedulers import AddEntry

AT_NINE = {"minute": "0", "hour": "9"}


@pytest.mark.parametrize(
    ("named", "ids"),
    [
        ("django_celery_beat.schedulers:DatabaseScheduler", ["routines.W022"]),
        ("redbeat.RedBeatScheduler", ["routines.W022"]),
        ("django", ["routines.W022"]),
        ("routines", []),
        ("celery.beat:PersistentScheduler", []),
        (None, []),
    ],
)
def test_another_scheduler_in_the_settings_is_named(
    named: str | None, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever starts a beat without -S gets that one."""
    monkeypatch.setitem(app_or_default().conf.changes, "beat_scheduler", named)
    assert [message.id for message in check_beat_scheduler()] == ids


@pytest.mark.usefixtures("db", "time")
def test_what_both_would_fire_is_named(add_entry: AddEntry) -> None:
    """Not what is in shadow, paused, disabled there, or of another task."""
    for name in ("moved", "shadowed", "paused", "disabled", "renamed", "other task", "by hand", "not moved"):
        add_entry(name, crontab=AT_NINE, last_run_at=MONDAY)
    source = service.OldScheduler.DJANGO_CELERY_BEAT
    service.move_over(source, only=["moved", "paused", "disabled", "renamed"])
    service.move_over(source, only=["shadowed"], shadow=True)
    service.pause_routine("paused")
    service.update_routine("renamed", name="another name")
    service.create_routine("by hand", task=NOTE, every="1h")
    service.create_routine("other task", task="tests.acceptance.tasks.fail", every="1h")
    from django.apps import apps

    apps.get_model("django_celery_beat", "PeriodicTask")._default_manager.filter(name="disabled").update(enabled=False)

    (message,) = check_fired_twice(databases=["default"])

    assert message.id == "routines.W023"
    assert message.msg == "django-celery-beat and a routine would both fire: by hand, moved, renamed."
    assert check_fired_twice(databases=None) == []


@pytest.mark.django_db
def test_without_django_celery_beat_there_is_nothing_to_say(settings) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_celery_beat"]
    assert check_fired_twice(databases=["default"]) == []
