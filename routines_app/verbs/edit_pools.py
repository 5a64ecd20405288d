"""Creating, changing and deleting pools. After a change of a ceiling beats look again: there may be room now."""

from __future__ import annotations

from typing import Any

from django.db import Error, IntegrityError, connections
from django.db.models import Q

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import DuplicateName, NotAllowed
from routines_app.core.said import said
from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.database_errors import Trouble, trouble_of
from routines_app.protocol.ledger.locks import waiting_locked
from routines_app.protocol.upkeep.unpooled import take_into
from routines_app.verbs.checking.lookup import find_pool
from routines_app.verbs.checking.names import Name
from routines_app.verbs.checking.rules import Integer, Rule, flag, unknown_field
from routines_app.verbs.held_rows import verb_transaction

FIELDS: dict[str, Rule] = {
    "name": Name(longest=100),
    "max_concurrent": Integer(least=0, most=2**31 - 1),
    "is_default": flag,
}
TRIES = 3  # at being the default pool, when somebody else makes another one the default at the same moment


def create_pool(name: str, *, max_concurrent: int, is_default: bool = False) -> Pool:
    """Create a pool: at most `max_concurrent` of its runs are in flight together; 0: none of them starts.

    The default pool is the one of all routines that name none; it takes the place of the one that was it before.
    """
    pool = Pool(**checked_pool({"name": name, "max_concurrent": max_concurrent, "is_default": is_default}))
    save_pool(pool, force_insert=True)
    return pool


def update_pool(pool: Pool | int | str, **changes: Any) -> Pool:
    """Change a pool's `name`, `max_concurrent` or `is_default`. A higher ceiling lets waiting runs go at once.

    Whoever gives a drained pool a ceiling has opened it.

    A pool that becomes the default takes the active runs in that have none; one that is it no longer keeps what it has.
    Of very many such runs the beats take the rest in, within seconds; none that waits goes past the pool meanwhile.
    """
    found = find_pool(pool)
    if changes.get("name") == found.name:  # which may be older than the rules for names
        del changes["name"]
    checked = checked_pool(changes)
    if "max_concurrent" in checked:  # what it was drained from counts no longer
        checked["drained_from"] = None
    for field, value in checked.items():
        setattr(found, field, value)
    save_pool(found, update_fields=sorted(checked))
    return found


def delete_pool(pool: Pool | int | str) -> None:
    """Delete a pool that is not the default, that no routine names and that the ledger does not remember."""
    found = find_pool(pool)
    if Pool.objects.using(ledger_alias()).filter(pk=found.pk, is_default=True).exists():
        raise NotAllowed("pool", found.name, said("it is the default pool: make another one that, or none, first"))
    if is_pool_used(found):
        raise NotAllowed(
            "pool", found.name, said("routines name it or its runs are active: give them another one first")
        )
    if found.runs.exists():
        raise NotAllowed("pool", found.name, said("the ledger holds runs of it: it can go when they are pruned"))
    try:
        with verb_transaction("pool", found.name):
            found.delete(using=ledger_alias())
    except IntegrityError as error:  # somebody has made a run of it since we looked
        raise NotAllowed("pool", found.name, said("a run of it was just made: try again when it has ended")) from error


def is_pool_used(pool: Pool) -> bool:
    """Whether it is the default, routines name it or runs of it are active. Asks only what an index answers."""
    return bool(pool.is_default) or pool.routines.exists() or pool.runs.filter(status__in=sorted(ACTIVE)).exists()


def checked_pool(values: dict[str, Any]) -> dict[str, Any]:
    """The given fields, as they are stored."""
    for field, value in values.items():
        if field not in FIELDS:
            raise unknown_field(field, value, list(FIELDS))
    checked = {field: FIELDS[field](field, value) for field, value in values.items()}
    if "is_default" in checked:
        checked["is_default"] = checked["is_default"] or None
    return checked


def save_pool(pool: Pool, **how: Any) -> None:
    """Save a pool whose values are checked; one that becomes the default takes over. `how` is Django's."""
    becomes_default = bool(pool.is_default) and "is_default" in how.get("update_fields", ["is_default"])
    for tries_left in reversed(range(TRIES if becomes_default else 1)):
        _refuse_duplicate(pool)
        try:
            with verb_transaction("pool", pool.name):
                if becomes_default:
                    _take_over(pool)
                pool.save(using=ledger_alias(), **how)
                if becomes_default:
                    take_into(pool.pk)
                on_commit(wake_beats)
        except IntegrityError:
            # Somebody else took the name, or made another pool the default, between the look and the write; anything
            # else is not ours to explain.
            _refuse_duplicate(pool)
            if not tries_left:
                raise
        except Error as error:
            # MariaDB ends one of two that become the default at once. In a transaction of the caller's that has undone
            # the caller's work too, and only the caller can do it again.
            alone = not connections[ledger_alias()].in_atomic_block
            if not (tries_left and alone and trouble_of(error) is Trouble.CONFLICT):
                raise
        else:
            return


def _take_over(pool: Pool) -> None:
    """The default pool before this one is it no longer. Both are locked, then runs may be."""
    pools = Pool.objects.using(ledger_alias())
    list(waiting_locked(pools.filter(Q(is_default=True) | Q(pk=pool.pk))).values_list("pk"))
    pools.filter(is_default=True).exclude(pk=pool.pk).update(is_default=None)


def _refuse_duplicate(pool: Pool) -> None:
    if Pool.objects.using(ledger_alias()).filter(name=pool.name).exclude(pk=pool.pk).exists():
        raise DuplicateName("name", pool.name, said("give a name that no other pool has"))
