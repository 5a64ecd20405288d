"""Log records as JSON, one object on a line, with the routine and the run that they are about.

`ROUTINES["LOG_FORMAT"] = "json"` lets Celery's workers and beats write so. A project that configures its logging by
itself names the classes in LOGGING: `JSONFormatter`, and `RunFilter` where a format of its own is to show `%(routine)s`
or `%(run_id)s`, or where records are formatted in another thread. Django reads LOGGING before any app is there, so
nothing of ours is imported here before a record is written.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger

RUN_FACTS = ("routine", "routine_id", "run_id", "task", "slot", "attempt", "trigger", "source")
_PLAIN = (str, int, float, bool, type(None))
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "task_id", "task_name"}


def run_facts() -> dict[str, Any]:
    """What is known of the run whose body calls; nothing outside of one, or in a thread that a body has started."""
    # Not imported by now: then nobody has started a run in this process.
    known = sys.modules.get("routines_app.protocol.run.current")
    run = None if known is None else known.current_run()
    if run is None:
        return {}
    facts = {name: getattr(run, name) for name in RUN_FACTS}
    return facts | {"slot": run.slot.isoformat()}


class RunFilter(logging.Filter):
    """Puts routine and run on every record, as attributes; empty ones outside of a run. It lets every record pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        facts = run_facts()
        for name in RUN_FACTS:
            if not hasattr(record, name):
                setattr(record, name, facts.get(name, ""))
        return True


class JSONFormatter(logging.Formatter):
    """One JSON object for each record: when, how grave, which logger, what; the facts of an event of ours, or of the
    run during which it was written; the traceback; and plain values given as `extra`, with secrets masked, under names
    that are not taken by then.
    """

    def format(self, record: logging.LogRecord) -> str:
        own = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **run_facts(),
            **_own_facts(record),
        }
        told = own | {name: value for name, value in _extra(record).items() if name not in own}
        if trace := self._trace(record):
            told["traceback"] = trace
        return json.dumps(told, default=str)

    def _trace(self, record: logging.LogRecord) -> str:
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        stack = self.formatStack(record.stack_info) if record.stack_info else ""
        return "\n".join(filter(None, (record.exc_text, stack)))


def _own_facts(record: logging.LogRecord) -> dict[str, Any]:
    return getattr(record, "routine_event", None) or {}


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
    plain = {name: _said(value) for name, value in given.items() if isinstance(value, _PLAIN) and value != ""}
    if not plain:
        return {}
    from routines_app.masks import masked  # it reads settings

    shown: dict[str, Any] = masked(plain)
    return shown


def _said(value: Any) -> Any:
    """JSON has no number that is none."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


@after_setup_logger.connect(weak=False)
@after_setup_task_logger.connect(weak=False)
def write_json_if_wanted(logger: logging.Logger, **_: Any) -> None:
    """Celery has set up the log of a worker or a beat."""
    from routines_app.conf import get_settings

    if get_settings().log_format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JSONFormatter())
