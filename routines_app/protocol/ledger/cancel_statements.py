"""Ending a statement that another thread waits for."""

from __future__ import annotations

import logging
import threading

from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger(__name__)

leaving = threading.Event()
"""Set while this process cancels its own statements, because it was asked to leave: whoever meets that gives up."""

CANCEL_SECONDS = 0.5  # a server that does not answer must not hold the one up who wants to leave


def cancel_statement(connection: BaseDatabaseWrapper) -> None:
    """Ask the database to end what runs on this connection, from any thread. Never raises.

    The thread that waits for it gets an ordinary database error. Between two statements nothing happens.
    """
    driver = connection.connection
    if driver is None:
        return
    try:
        if connection.vendor == "sqlite":
            driver.interrupt()
        elif connection.vendor == "mysql":
            _kill_query(connection, driver.thread_id())
        elif hasattr(driver, "cancel_safe"):
            driver.cancel_safe(timeout=CANCEL_SECONDS)
        else:  # psycopg2, or an old psycopg
            driver.cancel()
    except Exception:  # it is gone, closed meanwhile, or does not answer
        logger.debug("a statement could not be cancelled", exc_info=True)


def _kill_query(connection: BaseDatabaseWrapper, number: int) -> None:
    """MySQL and MariaDB take the request on another connection only."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("KILL QUERY %s", [number])
    finally:
        other.close()
