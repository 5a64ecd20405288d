"""A question that may hang: a server that is frozen takes connections and says nothing, for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import connections

from routines_app.core.said import said

Result = TypeVar("Result")


class TookTooLong(Exception):
    """There was no answer in time. Whoever still waits for it does so in a thread that nobody waits for."""


class NoThread(TookTooLong):
    """It could not even be asked: this process may start no further thread."""


def within(seconds: float, ask: Callable[[], Result]) -> Result:
    """The answer, or its error, or `TookTooLong`. It is asked in another thread, over connections of its own."""
    answers: list[Result] = []
    errors: list[BaseException] = []

    def answer() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised below, for the one who asks
            errors.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=answer, name="routines-asking", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThread(str(error)) from None
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TookTooLong(said("no answer within {seconds:g} s", seconds=seconds))
    return answers[0]
