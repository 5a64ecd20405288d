"""A runnable Django project with routines: what a user copies."""

from project.celery import app as celery_app

__all__ = ["celery_app"]
