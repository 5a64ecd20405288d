"""Results as the ledger holds them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routines_app.protocol.record.texts import NOTE_BYTES, clean, result_json

LIMIT = 64_000


def nested(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["plain", "a\x00b", "a\ud800b"], ids=ascii)
def test_a_deep_result_is_kept_as_text(text: str) -> None:
    """To read or clean it one would have to walk down: its body has succeeded, and it must not fail by that."""
    stored = json.loads(result_json(nested(600, text), LIMIT))
    assert stored == json.dumps(nested(600, text))
    assert stored.isascii()


@pytest.mark.parametrize("levels", [5, 50_000])
def test_any_depth_gives_a_result(levels: int) -> None:
    """One that no encoder bears is a placeholder."""
    assert isinstance(json.loads(result_json(nested(levels, 1), LIMIT)), list if levels == 5 else str)


@given(st.text(min_size=300) | st.text(alphabet='"\\é', min_size=300), st.integers(0, 299))
def test_what_is_too_large_says_so_within_the_limit(text: str, limit: int) -> None:
    """It is JSON all the same, with the beginning as text, and no larger than what it stands for may be."""
    stored = result_json(text, limit)
    assert len(stored) <= max(limit, NOTE_BYTES)
    found = json.loads(stored)
    whole = json.dumps(clean(text))
    assert whole.startswith(found["beginning"])
    assert found["too_large"] == f"{len(whole):,} bytes, kept are {len(found['beginning']):,}"


def test_what_just_fits_is_kept_whole() -> None:
    assert json.loads(result_json({"rows": [1, 2]}, len('{"rows": [1, 2]}'))) == {"rows": [1, 2]}
