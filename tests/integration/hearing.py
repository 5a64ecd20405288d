"""Receivers of a project's own, which write down what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from routines_app import signals

NAMES = (
    "run_started",
    "run_succeeded",
    "run_failed",
    "run_skipped",
    "run_cancelled",
    "run_overdue",
    "routine_exhausted",
    "routine_parked",
)

Heard = list[tuple[str, dict[str, Any]]]


@contextmanager
def hearing(*names: str) -> Iterator[Heard]:
    """What is sent meanwhile, in order: the signal's name, and what came with it."""
    heard: Heard = []
    with ExitStack() as stack:
        for name in names or NAMES:

            def receiver(name: str = name, **facts: Any) -> None:
                heard.append((name, facts))

            signal = getattr(signals, name)
            signal.connect(receiver, weak=False)
            stack.callback(signal.disconnect, receiver)
        yield heard


def names_of(heard: Heard) -> list[str]:
    return [name for name, _ in heard]
