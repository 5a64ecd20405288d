"""Old schedulers."""

from tests.integration.old_schedulers import add_entry, beat_schedule, django_celery_beat, redbeat_app

__all__ = ["add_entry", "beat_schedule", "django_celery_beat", "redbeat_app"]
