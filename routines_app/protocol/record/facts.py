"""What a worker knows about the run that it executes: everything that start returns and finish needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from routines_app.core.retry import RetryRule
from routines_app.core.words import ConcurrencyPolicy
from routines_app.models import Routine, RoutineRun
from routines_app.models.json_field import from_text
from routines_app.protocol.ledger.database import ledger_alias

# The run's and the routine's columns, in one order for every path that reads them.
RUN_FIELDS = (
    "id",
    "routine_id",
    "status",
    "trigger",
    "source",
    "task",
    "queue",
    "timeout_ms",
    "args",
    "kwargs",
    "pool_id",
    "scheduled_for",
    "started_at",
    "attempt",
    "budget_used",
    "own_retries",
    "chain",
    "idempotency_key",
    "fence",
    "worker",
    "start_token",
    "requested_by",
    "rotation_id",
    "phase",
    "tick",
)
ROUTINE_FIELDS = (
    "name",
    "args",
    "kwargs",
    "concurrency_policy",
    "max_attempts",
    "retry_delay_ms",
    "retry_max_delay_ms",
    "retry_jitter",
    "retry_for",
    "no_retry_for",
    "keep_result",
)
STATE_FIELDS = ("failure_count", "next_source")
_NOT_THE_ROWS = ("args", "kwargs", "status", "start_token")  # what facts say otherwise than the row, or not at all


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """A RUNNING run with its routine's rules, as they were when they were read."""

    id: UUID
    routine_id: int
    routine_name: str
    trigger: str
    source: str
    task: str
    queue: str
    timeout_ms: int | None
    args: list[Any]
    kwargs: dict[str, Any]
    pool_id: int | None
    scheduled_for: datetime
    started_at: datetime | None
    attempt: int
    budget_used: int
    own_retries: int
    chain: UUID | None
    idempotency_key: str
    fence: int | None
    worker: str
    start_token: UUID | None
    """Of the delivery that executes it; None for everybody else."""
    requested_by: str
    rotation_id: int | None
    """Of a member's run, or of the rotation's own that seeds."""
    phase: str
    tick: UUID | None
    policy: str
    retry: RetryRule
    keep_result: bool
    failure_count: int
    next_source: str

    @property
    def exclusive(self) -> bool:
        """It started with the lease and the running key; what the policy was edited to since does not matter."""
        return self.fence is not None

    @property
    def token(self) -> str:
        """The lease's owner token."""
        return str(self.id)

    @property
    def seeds(self) -> bool:
        """It is a rotation's own run beside its ticks: its end says nothing about the schedule of these."""
        return self.rotation_id == self.routine_id

    @property
    def replaces(self) -> bool:
        return self.policy == ConcurrencyPolicy.REPLACE


def returning() -> str:
    """The columns of a statement that returns facts, with the aliases run, routine and state."""
    columns = [f'run."{field}"' for field in RUN_FIELDS]
    columns += [f"routine.{field}" for field in ROUTINE_FIELDS]
    return ", ".join(columns + [f"state.{field}" for field in STATE_FIELDS])


def from_row(row: tuple[Any, ...]) -> RunFacts:
    """Facts from the columns of `returning`."""
    run_end, routine_end = len(RUN_FIELDS), len(RUN_FIELDS) + len(ROUTINE_FIELDS)
    run = dict(zip(RUN_FIELDS, row[:run_end], strict=True))
    routine = dict(zip(ROUTINE_FIELDS, row[run_end:routine_end], strict=True))
    failure_count, next_source = row[routine_end:]
    return _facts(run, routine, failure_count, next_source)


def load(run_id: UUID, token: UUID | None = None) -> RunFacts | None:
    """Read the facts of a run; None when there is no such run.

    Another process executes it (or executed it), unless this one gives the token with which it has started it.
    """
    paths = [*RUN_FIELDS, *(f"routine__{field}" for field in ROUTINE_FIELDS)]
    paths += [f"routine__state__{field}" for field in STATE_FIELDS]
    row = RoutineRun.objects.using(ledger_alias()).filter(id=run_id).values_list(*paths).first()
    return None if row is None else replace(from_row(row), start_token=token)


def _facts(run: dict[str, Any], routine: dict[str, Any], failure_count: int, next_source: str) -> RunFacts:
    args, kwargs = _json(run.pop("args")), _json(run.pop("kwargs"))
    run.pop("status")
    if run["rotation_id"] is not None:  # a failure waits for its rotation's ticks, and not for a retry of ours
        routine = routine | {"max_attempts": 1}
    return RunFacts(
        **run,
        routine_name=routine["name"],
        args=_json(routine["args"]) if args is None else args,
        kwargs=_json(routine["kwargs"]) if kwargs is None else kwargs,
        policy=routine["concurrency_policy"],
        retry=_rule(routine),
        keep_result=routine["keep_result"],
        failure_count=failure_count,
        next_source=next_source,
    )


def _rule(routine: dict[str, Any]) -> RetryRule:
    return RetryRule(
        max_attempts=routine["max_attempts"],
        delay_ms=routine["retry_delay_ms"],
        max_delay_ms=routine["retry_max_delay_ms"],
        jitter=routine["retry_jitter"],
        retry_for=_names(routine["retry_for"]),
        no_retry_for=_names(routine["no_retry_for"]),
    )


def _names(value: Any) -> tuple[str, ...]:
    """A list of names. Whatever plain SQL has put there instead is none: the run must still be able to end."""
    names = _json(value)
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _json(value: Any) -> Any:
    """Raw statements give JSON columns as text, the ORM gives them decoded: then a text is just a text."""
    return from_text(value) if isinstance(value, str) else value


def light_run(facts: RunFacts, **known: Any) -> RoutineRun:
    """A run instance for signals, built without a query; fields that are not known here load when used."""
    values = {field: getattr(facts, field) for field in RUN_FIELDS if field not in _NOT_THE_ROWS}
    values |= known
    names = [field.attname for field in RoutineRun._meta.concrete_fields if field.attname in values]
    run = RoutineRun.from_db(ledger_alias(), names, [values[name] for name in names])
    run._state.fields_cache["routine"] = light_routine(facts)
    return run


def light_routine(facts: RunFacts) -> Routine:
    names = ["id", "name", "concurrency_policy"]
    return Routine.from_db(ledger_alias(), names, [facts.routine_id, facts.routine_name, facts.policy])
