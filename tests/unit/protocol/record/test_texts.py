"""Results as the ledger holds them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from routines_app.protocol.record.texts import result_json

LIMIT = 64_000


def nested(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"], ids=ascii)
def test_a_deep_result_with_odd_text_is_kept_as_text(text: str) -> None:
    """To clean it one would have to walk down: its body has succeeded, and it must not fail by that."""
    stored = json.loads(result_json(nested(600, text), LIMIT))
    assert stored == json.dumps(nested(600, text))
    assert stored.isascii()


@pytest.mark.parametrize("levels", [5, 50_000])
def test_any_depth_gives_a_result(levels: int) -> None:
    """One that no encoder bears is a placeholder."""
    assert isinstance(json.loads(result_json(nested(levels, 1), LIMIT)), list if levels == 5 else str)
