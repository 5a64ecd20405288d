"""Another policy, for a plan of leases: what a caller may change in thought, checked. Nothing is ever written.

`{"pools": {"db": 3}, "paused": ["a"], "resumed": ["b"], "priorities": {"c": "HIGH"},
"schedules": {"d": {"cron": "*/5 * * * *"}, "e": {"every": "10m"}}, "concurrency": {"f": "FORBID"}}`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.core.words import ConcurrencyPolicy, Priority, RoutineStatus, TriggerKind
from routines_app.models import Pool, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking import rules
from routines_app.verbs.checking.lookup import LARGEST_ID, find_pool, find_routine
from routines_app.verbs.checking.rules import Rule, Word
from routines_app.verbs.checking.triggers import INTERVAL, trigger_fields
from routines_app.verbs.edit_pools import FIELDS as POOL_FIELDS
from routines_app.verbs.leases.facts import PoolFacts

MOST = 1_000  # routines and pools that one question may name
EXAMPLE = said('give a mapping such as {"pools": {"db": 3}, "paused": ["report"]}')
KEYS = ("pools", "paused", "resumed", "priorities", "schedules", "concurrency")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Another policy. Routines and pools are given by their ids; empty: the present one."""

    pools: Mapping[int, int] = field(default_factory=dict)
    """Other ceilings."""
    paused: frozenset[int] = frozenset()
    resumed: frozenset[int] = frozenset()
    priorities: Mapping[int, str] = field(default_factory=dict)
    schedules: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Other triggers, by the fields of a routine."""
    concurrency: Mapping[int, str] = field(default_factory=dict)

    @property
    def routines(self) -> frozenset[int]:
        """All that are named."""
        return self.paused | self.resumed | self.priorities.keys() | self.schedules.keys() | self.concurrency.keys()


def read_what_if(given: Any, pools: Mapping[int, PoolFacts]) -> WhatIf:
    """The policy that is asked about, or the one error that says what is wrong with it."""
    if given is None:
        return WhatIf()
    parts = _parts(given)
    routines = _Routines(parts)
    what_if = WhatIf(
        pools={
            chosen_pool(ref, pools, "pools").id: POOL_FIELDS["max_concurrent"]("pools", ceiling)
            for ref, ceiling in _mapping(parts, "pools").items()
        },
        paused=routines.all_of("paused"),
        resumed=routines.all_of("resumed"),
        priorities=routines.each("priorities", Word(Priority)),
        schedules=routines.each("schedules", _trigger),
        concurrency=routines.each("concurrency", Word(ConcurrencyPolicy)),
    )
    routines.refuse_both(what_if.paused & what_if.resumed)
    return what_if


def chosen_pool(ref: Any, pools: Mapping[int, PoolFacts], name: str) -> PoolFacts:
    """The pool of that name or id, of those that were read; unknown ones are the same error as everywhere."""
    if isinstance(ref, Pool):
        ref = ref.pk
    for pool in pools.values():
        if ref == (pool.name if isinstance(ref, str) else pool.id) and not isinstance(ref, bool):
            return pool
    found = find_pool(ref, field=name)  # raises, unless somebody has just made it
    return PoolFacts(found.pk, found.name, found.max_concurrent, 0)


def _parts(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InvalidValue("what_if", given, EXAMPLE)
    for key, value in given.items():
        if key not in KEYS:
            raise rules.unknown_field(key, value, list(KEYS))
    return {key: value for key, value in given.items() if value is not None}


def _mapping(parts: dict[str, Any], key: str) -> Mapping[Any, Any]:
    value = parts.get(key, {})
    if not isinstance(value, Mapping) or len(value) > MOST:
        raise InvalidValue(key, value, said("give a mapping from names, of at most {most}", most=MOST))
    return value


def _listed(parts: dict[str, Any], key: str) -> list[Any]:
    value = parts.get(key, ())
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidValue(key, value, said("give a list of names"))
    found = list(value)
    if len(found) > MOST:
        raise InvalidValue(key, found, said("give at most {most} names", most=MOST))
    return found


def _trigger(name: str, value: Any) -> dict[str, Any]:
    """`{"cron": …}` or `{"every": …}` as the fields of a routine."""
    if not isinstance(value, Mapping) or len(value) != 1 or not {"cron", "every"} & value.keys():
        raise InvalidValue(name, value, said('give {"cron": "*/5 * * * *"} or {"every": "10m"}'))
    if "cron" in value:
        expression = rules.cron(name, value["cron"])
        if not expression:
            raise InvalidValue(name, value, said("give a cron expression such as 0 9 * * MON-FRI"))
        return trigger_fields(TriggerKind.CRON, cron=expression)
    return trigger_fields(TriggerKind.INTERVAL, interval_ms=INTERVAL(name, value["every"]))


class _Routines:
    """The routines that a policy names, read in one statement."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self._refs: dict[str, Any] = {
            key: _listed(parts, key) if key in ("paused", "resumed") else _mapping(parts, key)
            for key in KEYS
            if key != "pools"
        }
        refs = [ref for chosen in self._refs.values() for ref in chosen]
        self._names: dict[int, str] = {}
        self._ids: dict[Any, int] = {}
        if refs:
            self._read(refs)

    def _read(self, refs: list[Any]) -> None:
        names = {ref for ref in refs if isinstance(ref, str) and rules.is_storable(ref)}
        keys: set[Any] = {ref.pk if isinstance(ref, Routine) else ref for ref in refs if isinstance(ref, Routine | int)}
        ids = [pk for pk in keys if isinstance(pk, int) and abs(pk) <= LARGEST_ID]  # one that is not saved has none
        routines = Routine.objects.using(ledger_alias())
        chosen = routines.filter(name__in=names) | routines.filter(pk__in=ids)
        for pk, name, status in chosen.values_list("pk", "name", "status"):
            if status == RoutineStatus.ARCHIVED:
                raise NotAllowed("what_if", name, said("it is archived and does not run any more"))
            self._names[pk] = name
            self._ids[name] = pk

    def _id(self, key: str, ref: Any) -> int:
        if isinstance(ref, str) and ref in self._ids:
            return self._ids[ref]
        pk = ref.pk if isinstance(ref, Routine) else ref
        known = isinstance(pk, int) and not isinstance(pk, bool) and pk in self._names
        return int(pk) if known else find_routine(ref, field=key).pk  # which raises, and says what is like it

    def all_of(self, key: str) -> frozenset[int]:
        return frozenset(self._id(key, ref) for ref in self._refs[key])

    def each(self, key: str, rule: Rule) -> dict[int, Any]:
        return {self._id(key, ref): rule(key, value) for ref, value in self._refs[key].items()}

    def refuse_both(self, both: frozenset[int]) -> None:
        if both:
            names = ", ".join(sorted(self._names[pk] for pk in both))
            raise InvalidValue("resumed", names, said("give a routine in paused or in resumed, not in both"))
