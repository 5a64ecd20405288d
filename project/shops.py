"""The shops that the demo's rotation keeps fresh: what a seed callable looks like."""

from __future__ import annotations

from collections.abc import Iterator

from routines_app.service import Member

CHAINS = {"north": ["aalborg", "bergen", "kiel", "oslo"], "south": ["avignon", "bologna", "cadiz", "patras"]}
CLOSED = "cadiz"
"""Nobody answers there: it is tried after more and more ticks, and takes nobody's turn."""


def members() -> Iterator[Member]:
    """What should be members now; a project would read it from its own tables."""
    for chain, towns in CHAINS.items():
        for town in towns:
            emphasis = 2.0 if town == "oslo" else 1.0
            yield Member(name=f"shop-{town}", kwargs={"shop": town}, emphasis=emphasis, tags=["shop", chain])
