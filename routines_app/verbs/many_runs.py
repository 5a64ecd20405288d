"""Acting on many runs: asking for failures again, cancelling what is active.

Both take a bounded list, do one run after another, each in a transaction of its own, and say of each what became of it:
one that cannot be done is passed over, and the others are done. A batch of retries may be repeated with the same token,
in whole or in part: what it has asked for is not asked for again.

Which runs a filter means for a verb is found in pieces, newest first and up to a fixed id, so that it comes to an end
whatever is made meanwhile; the retries themselves are made later than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from routines_app.core.errors import Held, InvalidValue, NotAllowed, NotFound, RoutineError
from routines_app.core.keys import manual_key
from routines_app.core.said import said
from routines_app.core.words import ConcurrencyPolicy, RoutineStatus, RunStatus
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.end.overlap import active_runs
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.cancel import cancel_run
from routines_app.verbs.checking.lookup import find_run
from routines_app.verbs.checking.rules import Text
from routines_app.verbs.editing import editing
from routines_app.verbs.ending import who_and_why
from routines_app.verbs.run_again import again_request, ask_again
from routines_app.verbs.run_selection import RunSelection, done_again, final_failure

AT_ONCE = 500  # runs in one call
COUNTED_AT_MOST = 10_000
TOKEN = Text(longest=64, required=True)
# Another run of such a routine would skip the new one, or be stopped by it.
ONE_AT_A_TIME = frozenset({ConcurrencyPolicy.FORBID, ConcurrencyPolicy.REPLACE})


class ManyVerb(StrEnum):
    RETRY = "retry"
    CANCEL = "cancel"


class PassedOver(StrEnum):
    """Why a run was left as it is."""

    NOT_FAILED = "not_failed"
    """It did not fail, or not any more."""
    GOES_ON = "goes_on"
    """Its chain has a later attempt."""
    DONE_AGAIN = "done_again"
    """Somebody has asked for it again already."""
    ACTIVE = "active"
    """Its routine runs one at a time, and another run of it waits or runs."""
    ENDED = "ended"
    """It has ended already."""
    GONE = "gone"
    """It was pruned."""
    HELD = "held"
    """Somebody else holds its rows."""
    ARCHIVED = "archived"
    """Its routine is archived."""
    SHADOW = "shadow"
    """An old scheduler still fires its routine."""
    REFUSED = "refused"
    """Its hidden arguments would go elsewhere, it is not the next phase of its member, no broker is known, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyRuns:
    """What became of many runs."""

    done: tuple[UUID, ...] = ()
    """Those that were retried, or cancelled or asked to stop."""
    passed_over: tuple[tuple[UUID, PassedOver, str], ...] = ()
    """The others: why, and what was said about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some of the runs that a verb is for."""

    runs: tuple[UUID, ...]
    before: UUID | None
    """Where the next piece begins; None: this was the last."""


@dataclass(frozen=True, slots=True)
class Counted:
    count: int
    is_all: bool
    """Whether there are no more than that; counting is bounded."""


def retry_runs(runs: Sequence[UUID], *, batch: str, requested_by: object = None) -> ManyRuns:
    """Ask again for failures that nothing follows, at most 500 of them. `batch` makes a repetition harmless.

    Of a routine that runs one at a time (FORBID, REPLACE) only while none of its runs is active.
    """
    batch = TOKEN("batch", batch)
    return _one_by_one(runs, lambda run_id: _retry(run_id, batch, requested_by))


def cancel_runs(runs: Sequence[UUID], *, reason: str = "", actor: str = "") -> ManyRuns:
    """Cancel what waits and ask what runs to stop, at most 500 runs."""
    who_and_why("cancelled", reason, actor)  # refused once, and not of each run
    return _one_by_one(runs, lambda run_id: _cancel(run_id, reason, actor))


def count_for(verb: ManyVerb, meant: RunSelection, *, before: UUID) -> Counted:
    """How many runs of the filter the verb is for, of those made before this id. Counting is bounded."""
    wanted = replace(_narrowed(verb, meant), unrepeated=verb == ManyVerb.RETRY)
    if wanted.error is not None:
        page = wanted.page(limit=COUNTED_AT_MOST + 1, before=before)
        return _counted(len(page.ids), page.end)
    stretch = wanted.stretch(before=before)
    return _counted(stretch.runs.order_by()[: COUNTED_AT_MOST + 1].count(), stretch.end)


def _counted(count: int, end: UUID | None) -> Counted:
    return Counted(min(count, COUNTED_AT_MOST), end is None and count <= COUNTED_AT_MOST)


def piece_for(verb: ManyVerb, meant: RunSelection, *, before: UUID, limit: int) -> Piece:
    """The next of them, newest first."""
    page = _narrowed(verb, meant).page(limit=limit, before=before)
    return Piece(runs=page.ids, before=page.ids[-1] if len(page.ids) == limit else page.end)


def _narrowed(verb: ManyVerb, meant: RunSelection) -> RunSelection:
    """Those of the filter that the verb is for; what was asked for again is met, so that a repetition counts it too."""
    return replace(meant, final=True) if verb == ManyVerb.RETRY else replace(meant, active=True)


def _one_by_one(runs: Sequence[UUID], act: Callable[[UUID], None]) -> ManyRuns:
    if len(runs) > AT_ONCE:
        raise InvalidValue("runs", f"{len(runs)} runs", said("give at most {most} at once", most=AT_ONCE))
    done, passed_over = [], []
    for run_id in dict.fromkeys(runs):
        try:
            act(run_id)
        except _Passed as passed:
            passed_over.append((run_id, passed.why, ""))
        except RoutineError as refused:
            passed_over.append((run_id, _why(refused), refused.expected))
        else:
            done.append(run_id)
    return ManyRuns(done=tuple(done), passed_over=tuple(passed_over))


def _why(refused: RoutineError) -> PassedOver:
    if isinstance(refused, Held):
        return PassedOver.HELD
    return PassedOver.GONE if isinstance(refused, NotFound) else PassedOver.REFUSED


class _Passed(Exception):
    def __init__(self, why: PassedOver) -> None:
        self.why = why


def _retry(run_id: UUID, batch: str, requested_by: object) -> None:
    """Decided behind the lock of the routine's state: two batches at once retry a run once."""
    run = find_run(run_id)
    token = f"again:{batch}:{run_id}"
    request = again_request(run, token, requested_by)
    with editing(run.routine_id) as edit:
        if _asked_before(run, token):
            return
        _pass_over(run, edit.routine)
        if ask_again(run, edit.routine, request, edit.now).status == RunStatus.SKIPPED:
            raise _Passed(PassedOver.ACTIVE)  # undone: a row that says so would be one for each failure


def _asked_before(run: RoutineRun, token: str) -> bool:
    keys = RoutineRun.objects.using(ledger_alias()).filter(idempotency_key=manual_key(run.routine_id, token, 1))
    return keys.exists()


def _pass_over(run: RoutineRun, routine: Routine) -> None:
    """Raise what keeps the run from being retried, if anything does."""
    if routine.status == RoutineStatus.ARCHIVED:
        raise _Passed(PassedOver.ARCHIVED)
    if routine.shadow:
        raise _Passed(PassedOver.SHADOW)
    this = RoutineRun.objects.using(ledger_alias()).filter(pk=run.pk)
    if not this.filter(status=RunStatus.FAILED).exists():
        raise _Passed(PassedOver.NOT_FAILED)
    if not this.filter(final_failure()).exists():
        raise _Passed(PassedOver.GOES_ON)
    if this.filter(done_again()).exists():
        raise _Passed(PassedOver.DONE_AGAIN)
    if routine.concurrency_policy in ONE_AT_A_TIME and active_runs([routine.pk]).get(routine.pk):
        raise _Passed(PassedOver.ACTIVE)


def _cancel(run_id: UUID, reason: str, actor: str) -> None:
    try:
        cancel_run(run_id, reason=reason, actor=actor)
    except NotAllowed:
        raise _Passed(PassedOver.ENDED) from None
