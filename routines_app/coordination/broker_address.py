"""Whether anybody has said where messages go.

A process that has not imported the project's Celery app gets Celery's fallback app, and an app without a broker gets
RabbitMQ on this machine: messages would go where no worker of the project looks.
"""

from __future__ import annotations

from celery import Celery

from routines_app.core.said import said

NO_BROKER = said("no Celery app with a broker is configured in this process")
CONFIGURE = said(
    "make the app in project/celery.py, import it in project/__init__.py, and set CELERY_BROKER_URL;"
    " the README's install section has all three"
)


def has_broker(app: Celery) -> bool:
    """Whether the app, or the environment, names a broker, or none is needed."""
    return bool(app.conf.task_always_eager or app.conf.broker_write_url)
