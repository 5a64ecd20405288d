"""Tasks whose runs tools look at."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.utils.log import get_task_logger

from tests.acceptance.tasks import body

plain = logging.getLogger("shop.orders")
task_logger = get_task_logger(__name__)


@shared_task
def chatty(word: str, api_token: str = "") -> str:
    """Says something to a logger of its own and to Celery's logger for tasks."""
    plain.info("plain %s", word, extra={"orders": 3, "api_token": "s3cret"})
    task_logger.info("task %s", word)
    return word


@shared_task
def broken(what: str = "glass") -> None:
    raise ValueError(f"{what} is broken")


@shared_task(bind=True, max_retries=1, default_retry_delay=0)
def again(self: Any, /) -> str:
    """Retries itself once, and then returns."""
    if not self.request.retries:
        raise self.retry(exc=KeyError("not yet"))
    return "at last"


@shared_task
def converting(seconds: float = 60.0) -> None:
    """Makes a failure of whatever asks it to stop."""
    end = time.monotonic() + seconds
    with body(seconds=seconds):
        try:
            while time.monotonic() < end:
                time.sleep(0.05)
        except SoftTimeLimitExceeded:
            raise RuntimeError("stopped in the middle of it") from None


@shared_task
def leaving(code: int = 3) -> None:
    sys.exit(code)
