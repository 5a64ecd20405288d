"""Importing an export: a plan first, then all of it or nothing.

The draft is made twice. The first says which rows are going to be changed: states and pools, which are locked in that
order, as everywhere (`ledger/locks.py`). The second is made behind these locks, and is carried out if it says the same;
otherwise somebody has changed the ledger in between, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from django.db import connections

from routines_app.coordination.wakeups import wake_beats
from routines_app.core.errors import ImportRefused, StaleVersion
from routines_app.core.said import said
from routines_app.core.words import TriggerKind
from routines_app.models import Pool
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias, on_commit
from routines_app.protocol.ledger.database_errors import retrying_conflicts
from routines_app.protocol.ledger.locks import waiting_locked
from routines_app.verbs.checking.known_tasks import registered_tasks
from routines_app.verbs.edit_pools import save_pool
from routines_app.verbs.exports.applying import States, change_all, lock_all
from routines_app.verbs.exports.creating import create_all
from routines_app.verbs.exports.drafting import draft_import
from routines_app.verbs.exports.drafts import Draft, Options
from routines_app.verbs.exports.plan_values import ImportPlan
from routines_app.verbs.held_rows import verb_transaction
from routines_app.verbs.rotations.writing import By, Progress, Told
from routines_app.verbs.second_opinion import tell_second_opinions


def plan_import(
    data: Any,
    *,
    archive_missing: bool = False,
    allow_unknown_task: bool = False,
    secrets: Mapping[str, str] | None = None,
) -> ImportPlan:
    """What `import_routines` would do with this data, and all that is wrong with it. Nothing is written.

    An entry is the whole of what it is about: what it does not say is as for a new routine; only a pause is left as it
    is. What no entry names is left alone, or, with `archive_missing`, archived. `secrets` are the variables, by
    default those of the environment.
    """
    return draft_import(data, _options(archive_missing, allow_unknown_task, secrets)).plan


def import_routines(
    data: Any,
    *,
    actor: str = "",
    reason: str = "",
    digest: str | None = None,
    archive_missing: bool = False,
    allow_unknown_task: bool = False,
    secrets: Mapping[str, str] | None = None,
    progress: Told | None = None,
) -> ImportPlan:
    """Do what `plan_import` says, in one transaction; the plan that was carried out.

    With any problem it is refused as a whole, by an `ImportRefused` that has all of them. With the `digest` of a plan
    it does that and nothing else: if the ledger has moved since, it is refused as stale. `progress` is told how many
    routines are written.
    """
    by, options = By.checked(actor, reason), _options(archive_missing, allow_unknown_task, secrets)
    registered_tasks()  # imports task modules the first time: not while holding a lock
    first = _sound(draft_import(data, options))
    if digest is not None and digest != first.plan.digest:
        raise _moved(digest)

    def carry_out() -> ImportPlan:
        with verb_transaction("import", "an import"):
            states = _lock(first)
            draft = _sound(draft_import(data, options))
            if draft.plan.digest != first.plan.digest or draft.locked_ids != first.locked_ids:
                raise _moved(first.plan.digest)
            _write(draft, states, by, Progress(progress))
        return draft.plan

    if connections[ledger_alias()].in_atomic_block:  # what is the caller's to do again
        return carry_out()
    return retrying_conflicts(carry_out)


def _options(archive_missing: bool, allow_unknown_task: bool, secrets: Mapping[str, str] | None) -> Options:
    given = os.environ if secrets is None else secrets
    return Options(secrets=given, archive_missing=archive_missing, allow_unknown_task=allow_unknown_task)


def _sound(draft: Draft) -> Draft:
    if draft.plan.problems:
        raise ImportRefused(draft.plan.problems)
    return draft


def _moved(digest: str) -> StaleVersion:
    return StaleVersion(
        "digest", digest, said("the ledger, the file or a secret has changed since the plan: plan again")
    )


def _lock(draft: Draft) -> States:
    states = lock_all(draft.locked_ids)
    if draft.touches_pools:
        # Not their keys: a large file takes seconds, and runs refer to pools meanwhile.
        list(waiting_locked(Pool.objects.using(ledger_alias()), keys=False).values_list("pk"))
    return states


def _write(draft: Draft, states: States, by: By, told: Progress) -> None:
    now = clock.now()
    _write_pools(draft)
    create_all(draft, now, by, told)
    change_all(draft, states, now, by, told)
    crons = [each.routine for each in draft.new if each.routine.trigger_kind == TriggerKind.CRON]
    tell_second_opinions(crons, now)
    on_commit(wake_beats)


def _write_pools(draft: Draft) -> None:
    """One that is the default no longer goes first: there is one at most."""
    for pool, changes in sorted(draft.changed_pools, key=lambda each: bool(each[1].get("is_default"))):
        for column, value in changes.items():
            setattr(pool, column, value)
        save_pool(pool, update_fields=sorted(changes))
    for pool in draft.new_pools:
        save_pool(pool, force_insert=True)
