"""Property tests of the core judge values, not time: a busy machine must not fail them."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("core", deadline=None)
settings.load_profile("core")
