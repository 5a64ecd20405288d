"""Errors of one kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.core.error_kind import LONGEST, error_kind, first_line

LINES = st.text(alphabet="abcxyz0123456789'\"-.: <>#…", max_size=60)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("ConnectionError: no answer after 31.5 s", "ConnectionError: no answer after # s"),
        ("Timeout(host='shop-1', port=443)", "Timeout(host='…', port=#)"),
        ('KeyError: "order 17"', 'KeyError: "…"'),
        ("Order 0192b1c4-8f3e-7abc-9def-0123456789ab is gone", "Order <id> is gone"),
        ("<Client object at 0x7f3aFF00> failed", "<Client object at <id>> failed"),
        ("commit 1f2e3d4c5b6a7980 refused", "commit <id> refused"),
        ("Http404: can't find it, won't try", "Http404: can't find it, won't try"),
        ("at 2026-11-17 03:00:05,123", "at #-#-# #"),
        ("\n  ValueError: no\nsecond line", "ValueError: no"),
        ("", ""),
    ],
)
def test_numbers_ids_and_quoted_values_are_folded(error: str, kind: str) -> None:
    """What is left is what failures have in common."""
    assert error_kind(error) == kind


@given(line=LINES, numbers=st.lists(st.integers(0, 10**9), min_size=2, max_size=2))
def test_errors_that_differ_in_a_number_are_of_one_kind(line: str, numbers: list[int]) -> None:
    """Whatever stands around it."""
    first, second = (error_kind(f"Failed: {number} of {line}") for number in numbers)
    assert first == second


@given(error=st.text(max_size=500))
def test_a_kind_fits_into_an_address(error: str) -> None:
    """A group can be asked for by its kind."""
    kind = error_kind(error)
    assert kind.isprintable()
    assert len(kind) <= LONGEST
    assert kind == " ".join(kind.split())


def test_the_first_line_is_the_first_that_says_something() -> None:
    """Some begin with an empty one."""
    assert first_line("\n \n a \n b") == "a"
