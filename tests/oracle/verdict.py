"""The verdict: what the oracle counted and what it found wrong, as one page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Verdict:
    """Every list names what is wrong; all empty means that the ledger balances."""

    expected: int = 0
    fired: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    manual: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    worst_lateness: float = 0.0
    lost: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    ceilings: list[str] = field(default_factory=list)
    chains: list[str] = field(default_factory=list)
    outlived: list[str] = field(default_factory=list)
    """Bodies that went on after their row had ended: frozen, or impossible to stop. Told, and not a fault."""

    @property
    def faults(self) -> dict[str, list[str]]:
        names = ("lost", "unexpected", "duplicates", "overlaps", "ceilings", "chains")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    @property
    def balances(self) -> bool:
        return not self.faults

    def page(self) -> str:
        """The whole verdict, for people."""
        lines = [
            f"slots expected      {self.expected}",
            f"fired               {self.fired}",
            f"skipped             {sum(self.skipped.values())}  {_by_kind(self.skipped)}",
            f"retries             {self.retries}",
            f"asked for by hand   {self.manual}",
            f"runs ended          {_by_kind(self.ended)}",
            f"duplicates          {len(self.duplicates)}",
            f"overlaps            {len(self.overlaps)}",
            f"ceilings broken     {len(self.ceilings)}",
            f"lost                {len(self.lost)}",
            f"unexpected          {len(self.unexpected)}",
            f"broken chains       {len(self.chains)}",
            f"worst lateness      {self.worst_lateness:.2f} s",
            f"bodies that outlived their row  {len(self.outlived)}",
            "the ledger balances" if self.balances else "THE LEDGER DOES NOT BALANCE",
        ]
        return "\n".join(lines + [f"  {kind}: {text}" for kind, texts in self.faults.items() for text in texts[:20]])


def _by_kind(counts: Counter[str]) -> str:
    return ", ".join(f"{kind or '-'} {count}" for kind, count in sorted(counts.items())) or "-"
