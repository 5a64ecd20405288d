"""The beats and workers that are alive, with all that they have reported."""

from __future__ import annotations

from datetime import timedelta

from routines_app.conf import get_settings
from routines_app.models import Node, Role
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.upkeep.nodes import REPORTS_MISSED
from routines_app.verbs.health.standing import MOST_NODES


def alive_nodes(role: Role | None = None) -> list[Node]:
    """Those that have reported themselves lately."""
    since = clock.now() - timedelta(seconds=REPORTS_MISSED * get_settings().node_seconds)
    nodes = Node.objects.using(ledger_alias()).filter(readable("seen_at", "started_at"), seen_at__gte=since)
    if role is not None:
        nodes = nodes.filter(role=role)
    return list(nodes.order_by("role", "name")[:MOST_NODES])
