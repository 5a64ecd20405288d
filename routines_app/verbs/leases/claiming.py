"""The first step of a look: what is due would be claimed. Decided by `claim/decide.py`, as for a beat."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from routines_app.core import lease_plan
from routines_app.core.errors import shown
from routines_app.core.lease_plan import Verdict
from routines_app.core.owed import Skipped
from routines_app.core.room import need_not_queue
from routines_app.core.said import said
from routines_app.core.triggers import Span
from routines_app.core.words import Reason, RunStatus, Source, is_exclusive
from routines_app.protocol.claim.alike import Decisions
from routines_app.protocol.claim.claimed import Claimed
from routines_app.protocol.claim.new_runs import skipped_run
from routines_app.verbs.leases import candidate as candidates
from routines_app.verbs.leases.candidate import Candidate
from routines_app.verbs.leases.facts import DueSlot
from routines_app.verbs.leases.moves import Moved, moved
from routines_app.verbs.leases.picture import Picture


def claim(picture: Picture, *, batch: int, enters_at_once: bool) -> None:
    """Claim what is due, a batch at a time. `enters_at_once`: the database lets a claim count room by itself."""
    facts = picture.facts
    moves = [(due, _moved(picture, due)) for due in facts.due]
    _leave_behind(picture, moves)
    due_now = [
        due._replace(row=move.row)
        for due, move in moves
        if move.row.next_run_at is not None and move.row.next_run_at <= facts.now
    ]
    due_now.sort(key=lambda due: (due.row.next_run_at, due.row.routine_id))
    claims = _Claims(picture, enters_at_once)
    for start in range(0, len(due_now), batch):
        claims.take(due_now[start : start + batch])


def _moved(picture: Picture, due: DueSlot) -> Moved:
    facts = picture.facts
    try:
        return moved(due.row, picture.what_if, since=facts.since, now=facts.now)
    except Exception as error:  # noqa: BLE001 - whatever a broken schedule raises
        _park(picture, due, error)
        return Moved(due.row._replace(next_run_at=None))


def _park(picture: Picture, due: DueSlot, error: Exception) -> None:
    """What a claim does with a routine whose next fire cannot be computed."""
    slot = due.row.next_slot or picture.now
    why = said(
        "{why}: its next fire cannot be computed: {error}", why=lease_plan.SKIPPED[Reason.PARKED], error=shown(error)
    )
    _skip(picture, due, Span(first=slot, last=slot, count=1), Reason.PARKED, why)


def _leave_behind(picture: Picture, moves: list[tuple[DueSlot, Moved]]) -> None:
    for due, move in moves:
        for left in move.left:
            _skip(picture, due, left.span, left.reason)
    if resumed := {due.row.routine_id: move.resumed_at for due, move in moves if move.resumed_at is not None}:
        picture.release(resumed)


def _skip(picture: Picture, due: DueSlot, span: Span, reason: Reason, why: str = "") -> None:
    run = skipped_run(due.row, Skipped(span=span, reason=reason), picture.now)
    found = candidates.new(run, picture.new_id(), due)
    found.decide(Verdict.SKIP, found.reason, why or _skipped_because(found))
    picture.add(found)


def _skipped_because(candidate: Candidate) -> str:
    return lease_plan.skipped_because(candidate.reason, until=candidate.until, count=candidate.count)


class _Claims:
    """The claims of one look, batch after batch."""

    def __init__(self, picture: Picture, enters_at_once: bool) -> None:
        self._picture = picture
        self._enters_at_once = enters_at_once
        self._decisions: dict[datetime, Decisions] = {}
        now = picture.now
        self._queues = {each.pool_id for each in picture.undecided() if each.waits_for_room(now)}

    def take(self, batch: list[DueSlot]) -> None:
        claims = [(due, claimed) for due in batch if (claimed := self._decide(due)) is not None]
        written = [self._write(due, claimed) for due, claimed in claims]
        self._enter_pools([each for candidates in written for each in candidates if each.verdict is None])
        # Afterwards, as a claim does: room that these give back is not counted by the claim itself.
        for (due, claimed), rows in zip(claims, written, strict=True):
            self._make_room(due, claimed, rows)

    def _decide(self, due: DueSlot) -> Claimed | None:
        """What a claim would decide; None if it would park the routine."""
        row, picture = due.row, self._picture
        # A look that is yet to come finds what beats have left: each routine was claimed as soon as it was due.
        looked_at = min(picture.now, max(picture.facts.since, row.next_run_at or picture.now))
        decisions = self._decisions.setdefault(looked_at, Decisions(looked_at))
        try:
            return decisions.of(row, picture.active_of(row.routine_id))
        except Exception as error:  # noqa: BLE001 - whatever a broken schedule raises
            _park(picture, due, error)
            return None

    def _write(self, due: DueSlot, claimed: Claimed) -> list[Candidate]:
        """The rows of one routine; those that are sent or ended are decided by that."""
        picture = self._picture
        rows = [candidates.new(run, picture.new_id(), due) for run in claimed.runs]
        for run, found in zip(claimed.runs, rows, strict=True):
            picture.add(found)
            if run.status != RunStatus.PENDING:
                found.decide(Verdict.SKIP, found.reason, _skipped_because(found))
            elif run.admitted_at is not None:
                found.decide(Verdict.START, Reason.NONE, lease_plan.STARTS)
        if not rows and claimed.state.next_source == Source.CATCHING_UP and due.row.next_slot is not None:
            rows = self._turn_comes(due, due.row.next_slot)
        return rows

    def _turn_comes(self, due: DueSlot, slot: datetime) -> list[Candidate]:
        run = skipped_run(due.row, Skipped(span=Span(first=slot, last=slot, count=1), reason=Reason.NONE), slot)
        found = candidates.new(run, self._picture.new_id(), due)
        found.decide(Verdict.HOLD, Reason.OVERLAP, lease_plan.TURN_COMES)
        self._picture.add(found)
        return [found]

    def _enter_pools(self, new: list[Candidate]) -> None:
        """Runs that wait for nothing but room go at once where there is room for all of them and nobody waits."""
        picture = self._picture
        queued = [each for each in new if each.reason is Reason.CEILING]
        wanted = Counter(each.pool_id for each in queued)
        roomy = {
            pool_id
            for pool_id, number in wanted.items()
            if self._enters_at_once
            and pool_id is not None
            and need_not_queue(picture.usage(pool_id), number, others_wait=pool_id in self._queues)
        }
        for each in queued:
            if each.pool_id in roomy and each.pool_id is not None:
                why = lease_plan.has_room(picture.pool_name(each.pool_id) or "", picture.usage(each.pool_id))
                picture.enter(each)
                each.decide(Verdict.START, Reason.NONE, why)
        self._queues |= wanted.keys() - roomy

    def _make_room(self, due: DueSlot, claimed: Claimed, rows: list[Candidate]) -> None:
        picture, pk = self._picture, due.row.routine_id
        pending = [each for each in rows if each.verdict is not Verdict.SKIP and each.why != lease_plan.TURN_COMES]
        if not pending:
            return
        others = {run.id for run in picture.active_of(pk)}
        picture.ask_to_stop(pk, claimed.stop)
        picture.end(pk, [run_id for run_id in claimed.cancel if run_id in others])
        picture.end(pk, claimed.supersede, Reason.SUPERSEDED)
        pending[-1].replace_others(len(others.intersection([*claimed.stop, *claimed.cancel])))
        if is_exclusive(due.row.concurrency_policy):
            for each in pending:
                picture.activate(each)
