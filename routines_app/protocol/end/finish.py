"""Finish: a body has ended, and the ledger says how.

One compare-and-set RUNNING -> ended decides who may write: the worker itself, its parent that saw it die, the watchdog,
or a reconciler. Whoever loses changes nothing. With the row go, in the same transaction, the routine's counters, the
next attempt, and — when the number of failures in a row changed an interval that has not been claimed yet — a new plan.

On PostgreSQL the usual ends (a success, a failure that will be retried, a cancellation) are one statement. An end
that changes the routine itself (exhausted, parked, recovered, catching up) or a rotation's member takes the transaction
of `transaction.py`, as every end does on other databases. After the commit: the lease is released, beats are woken if
there is something for them, the result is mirrored unless the statement has done that too, the signals are sent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import Error, connections, transaction
from django.db.models import Q

from routines_app.coordination import leases, wakeups
from routines_app.core.keys import next_attempt_key
from routines_app.core.retry import RetryAt, decide_retry
from routines_app.core.transitions import TERMINAL
from routines_app.core.words import ConcurrencyPolicy, Reason, RunStatus, Source
from routines_app.models import RoutineRun, new_run_id
from routines_app.protocol.end import mirror
from routines_app.protocol.end.line import let_next_go
from routines_app.protocol.end.recorded import Recorded, read_back
from routines_app.protocol.end.transaction import (
    NextAttempt,
    end_in_transaction,
    let_replacement_go,
    settle,
)
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import is_postgresql, ledger_alias, on_commit, sql
from routines_app.protocol.ledger.locks import update_if
from routines_app.protocol.ledger.prepared import run_statement
from routines_app.protocol.ledger.timeouts import is_bounded
from routines_app.protocol.record import events, facts, told
from routines_app.protocol.record.facts import RunFacts, light_run
from routines_app.protocol.record.outcome import Outcome
from routines_app.protocol.rotate.settle import settle_ended


@dataclass(frozen=True, slots=True)
class Lost:
    """The row was no longer ours: somebody else has ended it, and nothing was recorded."""


Finish = Recorded | Lost


def give_lease_back(run: RunFacts) -> None:
    if run.exclusive:
        leases.release_quietly(run.routine_id, run.token)


def finish(
    run: RunFacts, outcome: Outcome, *, give_back: Callable[[], object] | None = None, again: bool = False
) -> Finish:
    """End the run. `give_back` gives the lease back in place of us: whoever renews it must know first.

    Raises `django.db.Error` while the ledger is away: then nothing is known, and trying `again` is safe: an end that
    was recorded although its answer was lost is found then, and what comes after it is made up for.
    """
    now = clock.now()
    outcome, attempt = _decide(run, outcome, now)
    recorded = _end(run, outcome, attempt, now)
    if recorded is None and again:
        recorded = _recorded_before(run, now)
    if recorded is None:
        return Lost()
    on_commit(give_back or (lambda: give_lease_back(run)))
    _after_commit(run, outcome, recorded)
    return recorded


def close_run(run_id: UUID, outcome: Outcome) -> Finish:
    """End a RUNNING run from outside the process that executes it: it died, is silent, or must make room."""
    found = facts.load(run_id)
    return Lost() if found is None else finish(found, outcome)


def _decide(run: RunFacts, outcome: Outcome, now: datetime) -> tuple[Outcome, NextAttempt | None]:
    """Whether the chain goes on, with which attempt. A chain that was interrupted too often has failed."""
    if outcome.status != RunStatus.FAILED and not outcome.interrupted:
        return outcome, None
    decision = decide_retry(
        run.retry,
        budget_used=run.budget_used,
        now=now,
        jitter=random.random(),  # noqa: S311 # nosec B311 # spreads retries, guards nothing
        exception_names=outcome.exception_names,
        asked_delay_ms=outcome.asked_delay_ms,
        own_retry=outcome.own_retry,
        own_retries=run.own_retries,
        interrupted=outcome.interrupted,
        interruptions=_interruptions(run) if outcome.interrupted else 0,
    )
    if isinstance(decision, RetryAt) and outcome.retryable:
        return outcome, _next_attempt(run, outcome, decision)
    return replace(outcome, status=RunStatus.FAILED), None


def _interruptions(run: RunFacts) -> int:
    """How often its chain was interrupted before. Attempts that cost no budget may also be the task's own retries."""
    if run.attempt <= run.budget_used:
        return 0
    chain = RoutineRun.objects.using(ledger_alias()).filter(Q(chain=run.chain) | Q(id=run.chain))
    return chain.filter(status=RunStatus.CANCELLED, reason=Reason.INTERRUPTED).count()


def _next_attempt(run: RunFacts, outcome: Outcome, decision: RetryAt) -> NextAttempt:
    args, kwargs = outcome.retry_args or (None, None)
    return NextAttempt(
        id=new_run_id(),
        at=decision.at,
        budget_used=decision.budget_used,
        own_retries=decision.own_retries,
        key=next_attempt_key(run.idempotency_key, run.attempt + 1),
        args=args,
        kwargs=kwargs,
    )


def _end(run: RunFacts, outcome: Outcome, attempt: NextAttempt | None, now: datetime) -> Recorded | None:
    alias = ledger_alias()
    tell_after = told.deadline(now) if _is_heard(outcome) else None
    if not is_postgresql(alias) or _changes_the_routine(run, outcome, attempt):
        return end_in_transaction(alias, run, outcome, attempt, now, tell_after)
    recorded = _end_in_one_statement(alias, run, outcome, attempt, tell_after)
    if recorded is not None:
        _follow_up(alias, run, recorded, now)
    return recorded


def _is_heard(outcome: Outcome) -> bool:
    """Whether receivers wait for this end; whoever does not succeed may have been cancelled meanwhile."""
    possible = {outcome.status} if outcome.status == RunStatus.SUCCESS else {outcome.status, RunStatus.CANCELLED}
    return any(events.is_heard(status) for status in possible)


def _changes_the_routine(run: RunFacts, outcome: Outcome, attempt: NextAttempt | None) -> bool:
    if attempt is not None:
        return run.seeds
    if run.rotation_id is not None:
        return True
    exhausted = outcome.status == RunStatus.FAILED
    recovered = outcome.status == RunStatus.SUCCESS and run.failure_count > 0
    return exhausted or recovered or run.next_source == Source.CATCHING_UP


def _end_in_one_statement(
    alias: str, run: RunFacts, outcome: Outcome, attempt: NextAttempt | None, tell_after: datetime | None
) -> Recorded | None:
    mirrored = mirror.in_finish(alias, run, outcome)
    arguments = _arguments(run, outcome, attempt) | {"tell_after": tell_after}
    try:
        with _undoable(alias):
            rows = _finish_statement(alias, arguments, mirrored)
    except Error:
        if mirrored is None:
            raise
        # Perhaps the copy is at fault (its table is locked, say): the original alone, and then the copy by itself.
        mirrored = None
        rows = _finish_statement(alias, arguments, None)
    if not rows:
        return None
    status, reason, pooled, failures_before, next_source, goes_on, retry_id = rows[0]
    return Recorded(
        status=RunStatus(status),
        reason=reason,
        retry_id=retry_id or attempt.id if attempt is not None and goes_on else None,
        exhausted=status == RunStatus.FAILED and not goes_on,
        recovered=outcome.status == RunStatus.SUCCESS and failures_before > 0,
        catching_up=next_source == Source.CATCHING_UP,
        mirrored=mirrored is not None,
        pooled=pooled,
    )


def _undoable(alias: str) -> AbstractContextManager[object]:
    """Inside somebody's transaction (a beat's, that ends an orphan) an error must not spoil it for the second try."""
    return transaction.atomic(using=alias) if connections[alias].in_atomic_block else nullcontext()


def _finish_statement(
    alias: str, arguments: dict[str, Any], mirrored: tuple[str, dict[str, Any]] | None
) -> list[tuple[Any, ...]]:
    part, more = mirrored or ("", {})
    return run_statement(alias, sql("end/finish").replace("{mirror}", part), arguments | more)


def _arguments(run: RunFacts, outcome: Outcome, attempt: NextAttempt | None) -> dict[str, Any]:
    return {
        "run": run.id,
        "routine": run.routine_id,
        "fence": run.fence,
        "token": run.start_token,
        "status": outcome.status.value,
        "reason": str(outcome.reason),
        "result": outcome.result,
        "error": outcome.error,
        "traceback": outcome.traceback,
        "progress": _json(outcome.progress),
        "succeeded": outcome.status == RunStatus.SUCCESS,
        "retry": attempt is not None,
        "retry_id": attempt and attempt.id,
        "retry_key": attempt and attempt.key,
        "retry_at": attempt and attempt.at,
        "retry_budget": attempt and attempt.budget_used,
        "retry_own": attempt and attempt.own_retries,
        "retry_args": _json(attempt and attempt.args),
        "retry_kwargs": _json(attempt and attempt.kwargs),
    }


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _follow_up(alias: str, run: RunFacts, recorded: Recorded, now: datetime) -> None:
    """What the one statement's snapshot could not see: a claim or another finish that went at the same moment.

    A crash before this costs time, not truth: the next claim plans anew, and the reconciler wakes what sleeps for ever.
    """
    chain_ended = recorded.retry_id is None
    if recorded.recovered or (recorded.catching_up and chain_ended):
        settle(alias, run.routine_id, now, recovered=recorded.recovered)
    if run.replaces:
        let_replacement_go(alias, run.routine_id, now)
    if chain_ended:
        settle_ended([(run.routine_id, run.rotation_id)], now)
    if run.policy == ConcurrencyPolicy.QUEUE and chain_ended:
        let_next_go([run.routine_id], now)


def _recorded_before(run: RunFacts, now: datetime) -> Recorded | None:
    """The end that this run's own process has recorded without hearing of it: nobody else leaves its token there."""
    alias = ledger_alias()
    row = RoutineRun.objects.using(alias).filter(id=run.id, start_token=run.start_token, status__in=sorted(TERMINAL))
    found = row.first() if run.start_token is not None else None
    recorded = None if found is None else read_back(alias, found)
    if recorded is not None:
        _follow_up(alias, run, recorded, now)
    return recorded


def _after_commit(run: RunFacts, outcome: Outcome, recorded: Recorded) -> None:
    if _concerns_beats(run, recorded):
        on_commit(wakeups.wake_beats)
    if not recorded.mirrored and mirror.is_wanted(run, outcome):
        limited = is_bounded()  # now: what is done on commit is done outside of it
        on_commit(lambda: mirror.write(run, outcome, recorded.status, limited=limited))
    _tell(run, outcome, recorded)


def _concerns_beats(run: RunFacts, recorded: Recorded) -> bool:
    return recorded.retry_id is not None or recorded.pooled or run.replaces or recorded.catching_up


def _tell(run: RunFacts, outcome: Outcome, recorded: Recorded) -> None:
    known = {"error": outcome.error} if outcome.error else {}  # without one, who cancelled it may have said why
    ended = light_run(run, status=recorded.status.value, reason=str(recorded.reason), **known)
    events.run_ended(ended, **recorded.told)
    if _is_heard(outcome):
        told.note([run.id])


def mark_overdue(run: RunFacts) -> bool:
    """Say on the row, and tell, that its body cannot be stopped; it stays RUNNING until the body returns."""
    ours = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.RUNNING, fence=run.fence)
    marked = update_if(ours, [run.id], reason=Reason.OVERDUE) == 1
    if marked:
        events.run_overdue(run)
    return marked
