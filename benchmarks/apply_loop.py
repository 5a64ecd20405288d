"""The plain peer: one `apply_async` after another. `python -m benchmarks.apply_loop COUNT`."""

from __future__ import annotations

import sys

import django

from benchmarks.app import app, say_ready
from benchmarks.tasks import empty


def main(count: int) -> None:
    with app.producer_or_acquire() as producer:  # connected before the clock starts, as a running process would be
        producer.connection.ensure_connection()
    say_ready()
    for _ in range(count):
        empty.apply_async()


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]))
