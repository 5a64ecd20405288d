"""Lua scripts: what must be one act in Redis. Their texts are in `lua/`."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import redis


def run_script(client: redis.Redis, name: str, key: str, *arguments: Any) -> Any:
    """Run `lua/<name>.lua` on the key."""
    return client.register_script(_text(name))(keys=[key], args=arguments)


@lru_cache(maxsize=8)
def _text(name: str) -> str:
    return resources.files("routines_app.coordination").joinpath("lua", f"{name}.lua").read_text(encoding="utf-8")
