"""Recurring work for Django and Celery: every slot fires exactly once and leaves a record."""

from typing import Any

from routines_app.declaring import declare, routine

__version__ = "0.1.0"
__all__ = ["current_run", "declare", "routine"]


def __getattr__(name: str) -> Any:
    """`current_run`, for task code; not imported before Django is set up."""
    if name == "current_run":
        from routines_app.protocol.run.current import current_run

        return current_run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
