"""What a message of a run looks like on the broker."""

from __future__ import annotations

import json

from routines_app.coordination.envelope import Message
from tests.integration.protocol.claim.test_claim import TASK


def test_an_exclusive_message_carries_the_routines_id():
    """What tracing tools are shown and what is sent are the same."""
    message = Message("0190", "nightly", TASK, "", "MEDIUM", 1000, 7)

    args, kwargs, _ = json.loads(message.body)

    assert (args, kwargs) == (["0190"], {"exclusive": 7})
    assert kwargs == message.kwargs
