"""Hiding values that look secret, by the name of their key, wherever arguments and results are shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from routines_app.conf import get_settings

MASK = "••••••"


def masked(value: Any) -> Any:
    """A copy of a JSON value in which what stands under a secret-looking key is a mask."""
    if isinstance(value, dict):
        return {key: _hidden(item) if looks_secret(key) else masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value


def masked_json(value: Any) -> str:
    """A JSON value for the page: masked, indented, readable."""
    return json.dumps(masked(value), indent=2, ensure_ascii=False, default=str)


def masked_text(text: str) -> str:
    """A stored result for the page. One that was cut is no JSON any more and is masked by its look."""
    try:
        return masked_json(json.loads(text))
    except ValueError:
        return _secret_pairs(get_settings().secret_patterns).sub(rf"\g<name>{MASK}", text)


def looks_secret(key: object) -> bool:
    folded = str(key).lower().replace("-", "_")
    return any(pattern.lower() in folded for pattern in get_settings().secret_patterns)


def _hidden(value: Any) -> Any:
    return value if value in (None, "", [], {}) else MASK


@lru_cache(maxsize=8)
def _secret_pairs(patterns: Iterable[str]) -> re.Pattern[str]:
    """`"password": "…"`, `token=…`: a secret-looking name, and the value after it."""
    names = "|".join(re.escape(pattern).replace("_", "[-_]") for pattern in patterns) or "(?!)"
    value = r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;)}\]]+)"""
    return re.compile(rf"""(?P<name>[\w-]*(?:{names})[\w-]*["']?\s*[:=]\s*){value}""", re.IGNORECASE)
