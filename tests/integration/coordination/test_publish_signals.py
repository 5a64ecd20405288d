"""Celery's publish signals: tracing tools see the task that will run, and what they put into the headers goes along."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from celery import signals

from routines_app.coordination.broker import broker
from routines_app.coordination.envelope import EXECUTE_TASK, Message

TASK = "tests.acceptance.tasks.note"
RUN = "0198a1e9-0000-7000-8000-000000000001"


def test_a_tool_sees_the_users_task_and_adds_its_headers(redis_client: redis.Redis) -> None:
    told: list[tuple[str, Any, str, str]] = []

    def before(sender: Any, headers: dict[str, Any], properties: dict[str, Any], **_: Any) -> None:
        properties |= {"priority": 6, "reply_to": "somebody"}
        told.append(("before", sender, headers["task"], headers["id"]))
        headers["traceparent"] = "00-1-2-01"

    def after(sender: Any, headers: dict[str, Any], **_: Any) -> None:
        told.append(("after", sender, headers["task"], headers["id"]))

    signals.before_task_publish.connect(before)
    signals.after_task_publish.connect(after)
    try:
        assert broker().publish([Message(RUN, "report", TASK, "traced", "MEDIUM", None, 0)]) == []
    finally:
        signals.before_task_publish.disconnect(before)
        signals.after_task_publish.disconnect(after)
    assert told == [("before", TASK, TASK, RUN), ("after", TASK, TASK, RUN)]
    (sent,) = redis_client.lrange("traced\x06\x166", 0, -1)
    message = json.loads(sent)
    headers, properties = message["headers"], message["properties"]
    assert (properties["priority"], properties["reply_to"], properties["correlation_id"]) == (6, "somebody", RUN)
    assert (headers["task"], headers["traceparent"]) == (EXECUTE_TASK, "00-1-2-01")


@pytest.mark.usefixtures("redis_client")
def test_without_tools_no_signal_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The publish path is counted in microseconds."""
    for signal in (signals.before_task_publish, signals.after_task_publish):
        monkeypatch.setattr(signal, "send", None)
    assert broker().publish([Message(RUN, "report", TASK, "traced", "MEDIUM", None, 0)]) == []
