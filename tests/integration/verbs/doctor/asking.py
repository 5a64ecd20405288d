"""One question of the doctor's, asked in this thread: what a test has not committed is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import current_app

from routines_app.verbs.doctor.answers import Answer
from routines_app.verbs.doctor.doctor import CHECKS, _ask


def asked(name: str) -> list[Answer]:
    """Everything that the check of this name says."""
    (check,) = [check for check in CHECKS if check.name == name]
    return _ask(check)


def answer(name: str) -> Answer:
    """The one thing that it says."""
    (only,) = asked(name)
    return only


@contextmanager
def configured(**values: object) -> Iterator[None]:
    """The Celery app, set otherwise. Its settings cannot be taken away again, only written over."""
    before = {name: getattr(current_app.conf, name) for name in values}
    current_app.conf.update(values)
    yield
    current_app.conf.update(before)
