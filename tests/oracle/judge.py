"""The judgement: every check over every routine, into one verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from tests.oracle.bodies import Body, check_bodies, check_success
from tests.oracle.chains import check_chains, count
from tests.oracle.continuity import check_continuity
from tests.oracle.coverage import check_coverage
from tests.oracle.facts import History, read_ceilings, read_histories
from tests.oracle.line import check_line
from tests.oracle.rotations import check_rotations
from tests.oracle.verdict import Verdict


def no_bodies() -> Iterable[Body]:
    return ()


def judge(
    bodies: Callable[[], Iterable[Body]] = no_bodies, *, until: datetime | None = None, settled: bool = False
) -> Verdict:
    """Judge everything in the database up to `until`; later slots may still be without a row.

    `settled` also asks that nothing is on its way any more, except what a pause or a parking holds back. Processes may
    still be at work: a body that the first reading knows has started in the ledger too, and a success in the ledger is
    known to the second reading.
    """
    now = datetime.now(UTC)
    until = until or now
    verdict = Verdict()
    before, histories, after = list(bodies()), read_histories(), list(bodies())
    for history in histories:
        check_continuity(history, until, verdict)
        check_coverage(history, until, verdict)
        check_chains(history, verdict)
        check_line(history, verdict)
        count(history, verdict)
        if settled:
            check_settled(history, until, verdict)
    check_rotations(histories, now, verdict)
    check_bodies(histories, before, read_ceilings(), now, verdict)
    check_success(histories, after, verdict)
    return verdict


def judge_bodies(bodies: Callable[[], Iterable[Body]]) -> Verdict:
    """Judge only what ran and how its chains went on: for runs that a test rang in without a schedule."""
    verdict = Verdict()
    before, histories, after = list(bodies()), read_histories(), list(bodies())
    for history in histories:
        check_chains(history, verdict)
        check_line(history, verdict)
    check_bodies(histories, before, read_ceilings(), datetime.now(UTC), verdict)
    check_success(histories, after, verdict)
    return verdict


def check_settled(history: History, until: datetime, verdict: Verdict) -> None:
    """Whatever was due by `until` has ended; held runs of a paused routine may wait."""
    paused = history.definition["status"] == "PAUSED"
    for run in history.runs:
        if run.active and run.scheduled_for <= until and not (paused and run.status == "PENDING"):
            verdict.lost.append(f"{history.name}: {run.id} for {run.scheduled_for} is still {run.status} {run.reason}")
