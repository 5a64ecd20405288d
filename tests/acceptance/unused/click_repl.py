"""Stands where the `celery` command looks for an interactive shell, which no process of a stack has.

This folder is first on the path of a stack's processes: the real packages take a sixth of the time in which a beat or a
worker comes up, and a run starts hundreds. What a newcomer installs and starts has the real ones.
"""

from __future__ import annotations


def register_repl(group: object) -> None:
    """`celery amqp` has no shell here."""
