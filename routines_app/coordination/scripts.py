"""Lua scripts: what must be one act in Redis. Their texts are in `lua/`."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, cast

from routines_app.coordination.redis_client import asking


def call_script(name: str, key: str, *arguments: Any, courtesy: bool = False) -> int:
    """Run `lua/<name>.lua` on the key, or raise `RedisAway`."""
    text = _text(name)
    with asking(courtesy=courtesy) as client:
        return cast(int, client.register_script(text)(keys=[key], args=arguments))


@lru_cache(maxsize=8)
def _text(name: str) -> str:
    return resources.files("routines_app.coordination").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
