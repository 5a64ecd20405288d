"""Stored values as the pages show them: masked, indented, readable."""

from __future__ import annotations

import json
from typing import Any

from routines_app.masks import masked, masked_line
from routines_app.models.json_field import Unread, from_text


def masked_json(value: Any) -> str:
    """A JSON value for the page."""
    return json.dumps(masked(value), indent=2, ensure_ascii=False, default=str)


def masked_result(value: Any) -> str:
    """What a task returned: a text as it is, anything else as JSON."""
    return masked_line(value) if isinstance(value, str) else masked_json(value)


def masked_text(text: str) -> str:
    """An error for the page. What is no JSON, or nested too deep to be read as such, is masked by its look."""
    found = from_text(text)
    return masked_line(text) if isinstance(found, Unread) or found is text else masked_json(found)
