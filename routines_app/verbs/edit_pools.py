"""Creating, changing and deleting pools. After a change of a ceiling beats look again: there may be room now."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import DuplicateName, NotAllowed
from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.names import Name
from routines_app.verbs.checking.rules import Integer, Rule, unknown_field
from routines_app.verbs.held_rows import verb_transaction

FIELDS: dict[str, Rule] = {
    "name": Name(longest=100),
    "max_concurrent": Integer(least=1, most=2**31 - 1),
}


def create_pool(name: str, *, max_concurrent: int) -> Pool:
    """Create a pool: at most `max_concurrent` of its runs are in flight together."""
    pool = Pool(**_checked({"name": name, "max_concurrent": max_concurrent}))
    _save(pool, force_insert=True)
    return pool


def update_pool(pool: Pool | int | str, **changes: Any) -> Pool:
    """Change a pool's `name` or `max_concurrent`. A higher ceiling lets waiting runs go at once."""
    found = find_pool(pool)
    if changes.get("name") == found.name:  # which may be older than the rules for names
        del changes["name"]
    checked = _checked(changes)
    for field, value in checked.items():
        setattr(found, field, value)
    _save(found, update_fields=sorted(checked))
    return found


def delete_pool(pool: Pool | int | str) -> None:
    """Delete a pool that no routine names and that the ledger does not remember."""
    found = find_pool(pool)
    if is_pool_used(found):
        raise NotAllowed("pool", found.name, "routines name it or its runs are active: give them another one first")
    if found.runs.exists():
        raise NotAllowed("pool", found.name, "the ledger holds runs of it: it can go when they are pruned")
    with verb_transaction("pool", found.name):
        found.delete(using=ledger_alias())


def is_pool_used(pool: Pool) -> bool:
    """Whether routines name the pool or runs of it are active. Asks only what an index answers."""
    return pool.routines.exists() or pool.runs.filter(status__in=sorted(ACTIVE)).exists()


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for field, value in values.items():
        if field not in FIELDS:
            raise unknown_field(field, value, list(FIELDS))
    return {field: FIELDS[field](field, value) for field, value in values.items()}


def _save(pool: Pool, **how: Any) -> None:
    _refuse_duplicate(pool)
    try:
        with verb_transaction("pool", pool.name):
            pool.save(using=ledger_alias(), **how)
            on_commit(wake_beats)
    except IntegrityError:
        # Somebody else took the name between the look and the write; anything else is not ours to explain.
        _refuse_duplicate(pool)
        raise


def _refuse_duplicate(pool: Pool) -> None:
    if Pool.objects.using(ledger_alias()).filter(name=pool.name).exclude(pk=pool.pk).exists():
        raise DuplicateName("name", pool.name, "give a name that no other pool has")
