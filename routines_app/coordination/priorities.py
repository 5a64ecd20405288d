"""Priorities on the wire: a run stands in its queue where its task would stand.

| the routine's priority | Redis: 0 is served first         | AMQP: the highest is served first   |
| ---------------------- | -------------------------------- | ----------------------------------- |
| MEDIUM                 | what `apply_async` would send    | what `apply_async` would send       |
| HIGH                   | the `priority_steps` step before | one more, at most `x-max-priority`  |
| LOW                    | the `priority_steps` step after  | one less, at least 0                |

What `apply_async` would send is the task's own priority or `task_default_priority`, else the route's, else none, which
is 0 on both. Where there is no such step, or the queue has no `x-max-priority`, HIGH and LOW are sent as MEDIUM is. A
number in the routine's options is sent as it is. With nothing configured MEDIUM and HIGH are on Redis in the list that
has the queue's own name, among everybody's tasks, and LOW is in that of step 3, behind all of them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

from kombu import Queue

from routines_app.core.words import Priority


def on_redis(word: str, usual: int | None, steps: Sequence[int]) -> int | None:
    """`usual` is what a task would be sent with; kombu takes each number to the nearest step below.

    Where there is none below, as for 0 and none when the steps begin later, it takes the last.
    """
    at = (bisect(steps, usual or 0) - 1) % len(steps)
    if word == Priority.HIGH and at > 0:
        return steps[at - 1]
    if word == Priority.LOW and at + 1 < len(steps):
        return steps[at + 1]
    return usual


def on_amqp(word: str, usual: int | None, most: int | None) -> int | None:
    """`most` is the queue's x-max-priority; RabbitMQ takes every number above for it."""
    if most is None:
        return usual
    number = min(usual or 0, most)
    if word == Priority.HIGH and number < most:
        return number + 1
    if word == Priority.LOW and number > 0:
        return number - 1
    return usual


def most_of(queue: Queue | None) -> int | None:
    """The queue's x-max-priority, however it was given."""
    if queue is None:
        return None
    given = getattr(queue, "max_priority", None) or (queue.queue_arguments or {}).get("x-max-priority")
    return None if given is None else int(given)
