"""How long this process waits for the broker and for Redis when they do not answer.

A frozen server takes connections and says nothing, so somebody's time-out decides how long everybody behind it waits.
Beats and workers have a second or two. A caller of a verb, a web request most of all, has already committed: what is
left is hurry, and beats do without it. Both of its waits together stay below a second.

One look of a beat asks for many things. If each of them waited for the same frozen server, everything that needs no
server would be late: after a failure there is a rest that grows with what the failure has cost, and a beat, which can
do without any single answer, does not even ask Redis before it is over.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    broker_seconds: float
    redis_seconds: float
    insists: bool = True
    """Asks Redis also just after a failure, unless it is for a courtesy."""


CALLER = Patience(broker_seconds=0.5, redis_seconds=0.3)
WORKER = Patience(broker_seconds=2.0, redis_seconds=1.0)
BEAT = Patience(broker_seconds=2.0, redis_seconds=1.0, insists=False)

REST_TIMES = 1.5  # as long as the failure took

_patience = CALLER


def patience() -> Patience:
    return _patience


def be_patient(as_what: Patience) -> None:
    """This process is a beat or a worker, from now on and in its children."""
    global _patience
    _patience = as_what


def rest_seconds(least: float, failure_took: float) -> float:
    """How long others who would ask the same are told at once that it is away."""
    return max(least, REST_TIMES * failure_took)
