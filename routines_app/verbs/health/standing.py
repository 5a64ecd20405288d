"""What the ledger knows about beats and workers: who has reported itself lately, and what is wrong around it."""

from __future__ import annotations

import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from routines_app.conf import get_settings
from routines_app.core.durations import format_duration
from routines_app.masks import masked_line
from routines_app.models import Node, Role
from routines_app.models.node import CLOCK_AHEAD, PROBLEMS
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.upkeep.nodes import REPORTS_MISSED

MOST_NODES = 1_000
DOUBTED_AFTER = 2  # reports that did not come


class Presence(StrEnum):
    """What a process's last report says about whether it is still there."""

    HERE = "here"
    DOUBTFUL = "doubtful"
    """Two reports have not come."""
    GONE = "gone"
    """Three have not."""


def presence(seen_at: datetime, now: datetime) -> Presence:
    """Of a process that was last seen then, by how often processes report themselves (NODE_SECONDS)."""
    every = timedelta(seconds=get_settings().node_seconds)
    if now - seen_at > REPORTS_MISSED * every:
        return Presence.GONE
    return Presence.DOUBTFUL if now - seen_at > DOUBTED_AFTER * every else Presence.HERE


class Seen(NamedTuple):
    """A beat or worker, as it has last reported itself."""

    name: str
    role: str
    host: str
    seen_at: datetime
    draining: bool
    versions: Any
    queues: Any

    @property
    def problem(self) -> str:
        """The first thing that it says is wrong around it; empty: nothing is."""
        problems = self._said.get(PROBLEMS)
        return str(problems[0]) if isinstance(problems, list) and problems else ""

    @property
    def clock_ahead_seconds(self) -> float | None:
        """How far its machine's clock is ahead of the database's, as it has found it."""
        found = self._said.get(CLOCK_AHEAD)
        return float(found) if isinstance(found, int | float) else None

    @property
    def _said(self) -> dict[str, Any]:
        """Plain SQL can put anything there."""
        return self.versions if isinstance(self.versions, dict) else {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """Whether there is somebody who does a role's work."""

    role: Role
    healthy: bool
    alive: int
    """How many have reported themselves lately; workers that take no more work are not counted."""
    seen_at: datetime | None
    """When the last of them did."""
    why: str


def seen_nodes(roles: Collection[Role], *, here: bool = False) -> list[Seen]:
    """Those of these roles, the last one seen first; only this host's if asked for."""
    nodes = Node.objects.using(ledger_alias()).filter(readable("seen_at"), role__in=sorted(roles))
    if here:
        nodes = nodes.filter(host=socket.gethostname())
    rows = nodes.order_by("-seen_at", "name").values_list(*Seen._fields)
    return [Seen._make(row) for row in rows[:MOST_NODES]]


def standing(role: Role, nodes: Sequence[Seen], *, now: datetime, max_age: timedelta, here: bool) -> Standing:
    """Of a whole fleet a worker that takes no more work is no help; of a host it is as healthy as it should be.

    So is one that says that Redis is away: a restart would not mend that, but a fleet of which each says so is ill.
    """
    ours = [node for node in nodes if node.role == role]
    alive = [node for node in ours if now - node.seen_at <= max_age and (here or not node.draining)]
    place = f" on {socket.gethostname()}" if here else ""
    troubled = bool(alive) and not here and all(node.problem for node in alive)
    if alive:
        count = f"{len(alive)} {role}{'' if len(alive) == 1 else 's'}{place}"
        why = f"{count}, seen {ago(now - alive[0].seen_at)}"
        why += f", each with a problem: {masked_line(alive[0].problem)}" if troubled else ""
    else:
        why = f"no {role}{place} has reported itself in the last {in_words(max_age)}{_last(ours, now)}"
    return Standing(
        role=role,
        healthy=bool(alive) and not troubled,
        alive=len(alive),
        seen_at=ours[0].seen_at if ours else None,
        why=why,
    )


def _last(nodes: Sequence[Seen], now: datetime) -> str:
    if not nodes:
        return ""
    state = ", draining" if nodes[0].draining else ""
    return f" (the last was {nodes[0].name}, {ago(now - nodes[0].seen_at)}{state})"


def ago(length: timedelta) -> str:
    return f"{in_words(length)} ago"


def in_words(length: timedelta) -> str:
    return format_duration(max(0, round(length.total_seconds())) * 1000)


def shown(moment: datetime | None) -> str:
    return "never" if moment is None else moment.isoformat(sep=" ", timespec="seconds")
