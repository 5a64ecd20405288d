"""For tests of projects that use routines: time that stands still, what is due is run inline, and the ledger is judged.

    with frozen_clock("2026-03-02T02:59:00+00:00") as clock:
        service.create_routine("report", task="shop.tasks.report", cron="0 3 * * *")
        clock.move(minutes=1)
        run_due()
        assert_ran("report")

What decides and what is written is what decides and writes in production: the claim, the pools, the executor, the
ends. Left out are the processes and what lies between them: no beat, no worker, no broker, no Redis. `docs/testing.md`
shows each part, and says what cannot be tested so. pytest is not needed; its fixture is in `testing.fixtures`.
"""

from routines_app.testing.assertions import assert_ledger_balanced, assert_not_run, assert_ran, assert_skipped
from routines_app.testing.due import run_due, run_until
from routines_app.testing.frozen import FrozenClock, frozen_clock
from routines_app.testing.underway import running

__all__ = [
    "FrozenClock",
    "assert_ledger_balanced",
    "assert_not_run",
    "assert_ran",
    "assert_skipped",
    "frozen_clock",
    "run_due",
    "run_until",
    "running",
]
