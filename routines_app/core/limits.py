"""How long a body may run: the routine's time-out and the task's own limits, whichever is tighter."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

DEFAULT_SECONDS = 300.0  # where neither the routine nor the task says anything


class Limits(NamedTuple):
    """Seconds from the begin of the run on; `inf` where there is no limit."""

    stop_after: float
    """It is asked to stop then."""
    end_after: float | None
    """It is ended then if it has not stopped; None: after the usual grace."""


def limits(timeout_ms: int | None, *, soft: float | None = None, hard: float | None = None, grace: float) -> Limits:
    """A time-out of None is unset, one of 0 none. `soft` and `hard` are the task's own, as Celery has them.

    | soft | hard | time-out R | asked to stop  | ended                                            |
    | ---- | ---- | ---------- | -------------- | ------------------------------------------------ |
    |      |      | unset      | DEFAULT        | DEFAULT + grace                                  |
    |      |      | R          | R              | R + grace                                        |
    |      |      | 0          | never          | never                                            |
    | S    |      | unset      | S              | the later of S and DEFAULT, + grace              |
    | S    |      | R          | min(S, R)      | R + grace                                        |
    | S    |      | 0          | S              | never: Celery would not either                   |
    | any  | H    | any        | min(S, H, R)   | min(H, R + grace); H + grace if it is asked at H |

    So whoever says a limit has it, and the room to clean up that lies behind it. Only a task that has nothing before
    its hard limit is asked to stop then, which Celery would not do, and has the usual grace.
    """
    soft, hard = soft or inf, hard or inf
    routine = timeout_ms / 1000 if timeout_ms else inf
    if timeout_ms is None and soft == hard == inf:
        routine = DEFAULT_SECONDS
    stop = min(soft, hard, routine)
    unset_alone = timeout_ms is None and hard == inf
    end = min(hard, (max(stop, DEFAULT_SECONDS) if unset_alone else routine) + grace)
    return Limits(stop, None if end <= stop or end == stop + grace else end)
