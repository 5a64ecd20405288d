"""For processes of a test: Sentry's SDK as a project sets it up, but what would go to Sentry goes to a file.

Each line of the file named by ROUTINES_TOOL_LOG is one item of an envelope: an event, a transaction or a check-in.
"""

from __future__ import annotations

import json
import os
from typing import Any

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.celery import CeleryIntegration
from sentry_sdk.transport import Transport

from tests.acceptance.tools.lines import write_line


class Recording(Transport):
    """Sends nothing anywhere."""

    def capture_envelope(self, envelope: Envelope) -> None:
        for item in envelope.items:
            payload: Any = item.payload.json if item.payload.json is not None else json.loads(item.payload.get_bytes())
            write_line({"type": item.type, "pid": os.getpid(), "payload": payload})


sentry_sdk.init(
    dsn="http://nobody@127.0.0.1:9/1",
    transport=Recording,
    traces_sample_rate=1.0,
    integrations=[CeleryIntegration(monitor_beat_tasks=True)],
)
