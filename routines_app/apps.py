"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy


class RoutinesConfig(AppConfig):
    name = "routines_app"
    label = "routines"
    verbose_name = gettext_lazy("Routines")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import routines_app.beat.checks  # noqa: F401 - importing them registers them
        from routines_app import (  # noqa: F401
            checks,
            cron_checks,
            declared_checks,
            log_format,
            migrated,
            moving_checks,
            receivers,
            tasks,
        )
        from routines_app.beat import old_beat
        from routines_app.core import errors
        from routines_app.masks import brief
        from routines_app.models import ledger_time
        from routines_app.protocol.ledger import clock

        ledger_time.take_from(clock.now)
        errors.show_with(brief)
        old_beat.connect()
        post_migrate.connect(migrated.sync_after_migrate, sender=self, dispatch_uid="routines.sync_after_migrate")
