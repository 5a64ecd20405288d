"""Callables that seed rotations in tests, well and badly. What the good ones give is set by the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from routines_app.models import Rotation
from routines_app.protocol.run.current import current_run
from routines_app.service import Member

PATH = __name__
given: list[Any] = []


def of_the_test() -> list[Any]:
    return list(given)


def lazily() -> Iterator[Any]:
    yield from given


def by_name(rotation: Rotation) -> Iterator[Any]:
    yield Member(name=f"{rotation.name} one")


def with_a_default(prefix: str = "usual") -> Iterator[Any]:
    yield f"{prefix} one"


def notes_its_deadline() -> list[Any]:
    run = current_run()
    given.append(run and run.deadline)
    return []


def raises() -> list[Any]:
    raise OSError("the source is away")


def raises_in_the_middle() -> Iterator[Any]:
    yield "first"
    yield "second"
    raise OSError("the source went away")


def nothing_at_all() -> None:
    """Forgot to return."""


def a_number() -> int:
    return 7


def without_end() -> Iterator[Any]:
    number = 0
    while True:
        yield f"member {number}"
        number += 1


class Source:
    def __call__(self) -> list[Any]:
        return ["from an instance"]


instance = Source()
no_callable = "text"
