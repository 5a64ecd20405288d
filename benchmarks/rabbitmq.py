"""The burst through RabbitMQ: reported where a broker answers, required nowhere."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from kombu import Connection
from kombu.exceptions import KombuError

from benchmarks.bench import Bench
from benchmarks.deployment import ready_at, soon
from benchmarks.figures import Figure
from benchmarks.fill import add_routines

URL = os.environ.get("BENCH_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")


def measure(bench: Bench, count: int) -> Iterator[Figure]:
    bench.progress.begin(f"burst of {count:,} through RabbitMQ")
    queue = f"bench-{uuid4().hex[:8]}"  # the broker may be somebody's: nothing else there is touched
    connection: Any = Connection(URL, connect_timeout=1)
    try:
        connection.ensure_connection(max_retries=1, interval_start=0)
    except (KombuError, OSError):
        bench.say("nothing answers there, left out")
        return
    with connection, bench.deployment(CELERY_TASK_DEFAULT_QUEUE=queue, CELERY_BROKER_URL=URL) as at:
        add_routines(at, count, first=soon(0))
        first_tick = ready_at(at.beat())
        channel = connection.channel()
        try:
            bench.wait(lambda: length(channel, queue) >= count, 60, "RabbitMQ did not get all messages", every=0.01)
            yield Figure(
                name=f"burst of {count:,}, ALLOW, RabbitMQ", ours=count / (time.time() - first_tick), unit="/s"
            )
        finally:
            channel.queue_delete(queue)


def length(channel: Any, queue: str) -> int:
    return int(channel.queue_declare(queue, durable=True, auto_delete=False).message_count)
