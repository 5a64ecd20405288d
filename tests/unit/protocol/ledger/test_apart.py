"""One bad row among many is found, whatever else is there; and a change is told once."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from django.db import OperationalError
from hypothesis import given
from hypothesis import strategies as st

from routines_app.protocol.ledger import apart
from routines_app.protocol.ledger.apart import each_apart
from routines_app.protocol.ledger.said_once import SaidOnce


@given(items=st.lists(st.integers(), unique=True, min_size=1, max_size=60), data=st.data())
def test_it_is_done_for_everybody_but_those_it_fails_for(items: list[int], data: st.DataObject) -> None:
    """Once each, in order."""
    bad = set(data.draw(st.lists(st.sampled_from(items), unique=True)))
    done: list[int] = []

    def act(some: Sequence[int]) -> None:
        if bad & set(some):
            raise ValueError(f"one of {some}")
        done.extend(some)

    found = each_apart(act, items)
    assert done == [item for item in items if item not in bad]
    assert [item for item, _ in found.failed] == [item for item in items if item in bad]
    assert found.left == []


def test_what_there_is_no_time_for_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """But one is known each time."""
    monkeypatch.setattr(apart, "APART_SECONDS", -1.0)

    def act(some: Sequence[int]) -> None:
        if len(some) > 1:
            raise ValueError

    assert each_apart(act, [1, 2, 3, 4]) == ([], [2, 3, 4])


def test_an_outage_is_nobodys_own_trouble() -> None:
    def act(some: Sequence[int]) -> None:
        raise OperationalError("connection refused")

    with pytest.raises(OperationalError):
        each_apart(act, [1, 2])


def test_a_change_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """And again when it is another, or comes back after it was over."""
    told = SaidOnce(logging.getLogger("tests"))
    for text in ("held", "held", "refused", "refused"):
        told.warn("x", text)
    assert "x" in told
    assert told.over("x")
    assert not told.over("x")
    told.warn("x", "refused")
    told.keep(["y"])
    assert "x" not in told
    assert caplog.messages == ["held", "refused", "refused"]
