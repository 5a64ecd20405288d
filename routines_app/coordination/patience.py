"""How long this process waits for the broker and for Redis when they do not answer.

A frozen server takes connections and says nothing, so somebody's time-out decides how long everybody behind it waits.
Beats and workers have a second or two. A caller of a verb, a web request most of all, has already committed: what is
left is hurry, and beats do without it. Both of its waits together stay below a second.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    broker_seconds: float
    redis_seconds: float


CALLER = Patience(broker_seconds=0.5, redis_seconds=0.3)
SERVICE = Patience(broker_seconds=2.0, redis_seconds=1.0)

_patience = CALLER


def patience() -> Patience:
    return _patience


def be_patient() -> None:
    """This process is a beat or a worker, from now on and in its children."""
    global _patience
    _patience = SERVICE
