"""The stamp of what was published, by each way."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from routines_app.core.words import RunStatus
from routines_app.models import new_run_id
from routines_app.protocol.publish import outbox
from routines_app.protocol.publish.outbox import stamp
from tests.integration.protocol.conformance.rows import MOMENT, SECOND, columns, make_routine, make_run

pytestmark = pytest.mark.django_db

MODULES = (outbox,)

NOW = MOMENT + 60 * SECOND
LOOKED_AT_AGAIN = NOW + 45 * SECOND


def stamped(before: dict[str, Any]) -> dict[str, Any]:
    count: int = before["publish_count"] + 1
    return before | {"dispatched_at": NOW, "publish_count": count, "publish_after": LOOKED_AT_AGAIN}


@pytest.mark.parametrize("status", list(RunStatus))
@pytest.mark.parametrize(
    ("admitted_at", "dispatched_at", "is_stamped"),
    [
        pytest.param(MOMENT, None, True, id="let through and not stamped yet"),
        pytest.param(MOMENT, MOMENT, False, id="stamped before"),
        pytest.param(None, None, False, id="handed back before the stamp"),
        pytest.param(None, MOMENT, False, id="stamped and never let through"),
    ],
)
def test_what_waits_in_the_broker_is_stamped_once(
    status: RunStatus, admitted_at: datetime | None, dispatched_at: datetime | None, is_stamped: bool
) -> None:
    """Whatever its status: a fast worker may have started it, or even ended it."""
    run = make_run(make_routine(), status=status, admitted_at=admitted_at, dispatched_at=dispatched_at, publish_count=3)
    before = columns(run)
    assert stamp([str(run.id)], NOW) == int(is_stamped)
    assert columns(run) == (stamped(before) if is_stamped else before)


def test_a_batch_is_stamped_and_counted() -> None:
    """Of all that were named those that fit, and nothing that was not named."""
    routine = make_routine()
    first, second, untold = (make_run(routine) for _ in range(3))
    handed_back = make_run(routine, admitted_at=None)
    runs = (first, second, untold, handed_back)
    before = {run.id: columns(run) for run in runs}
    assert stamp([str(second.id), str(new_run_id()), str(handed_back.id), str(first.id)], NOW) == 2
    assert [columns(run) for run in runs] == [
        stamped(before[first.id]),
        stamped(before[second.id]),
        before[untold.id],
        before[handed_back.id],
    ]


def test_nothing_was_published() -> None:
    """An empty batch stamps nothing."""
    run = make_run(make_routine())
    before = columns(run)
    assert stamp([], NOW) == 0
    assert columns(run) == before
