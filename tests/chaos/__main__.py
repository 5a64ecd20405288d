"""`python -m tests.chaos --minutes 10 --seed 1`: break everything for a while, let it settle, and judge."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

import tests.acceptance.app  # noqa: E402, F401 - becomes Celery's current app
from tests.acceptance.fault import IMPATIENT  # noqa: E402
from tests.acceptance.stack import Stack  # noqa: E402
from tests.chaos.conduct import judge_audit, judge_conduct  # noqa: E402
from tests.chaos.fleet import create_fleet  # noqa: E402
from tests.chaos.nemesis import BEATS, GROUPS, WORKERS, Nemesis  # noqa: E402
from tests.chaos.settling import settle  # noqa: E402
from tests.oracle import judge  # noqa: E402
from tests.oracle.story import stories  # noqa: E402

ROUTINES = 500
# More happens in a minute. A beat with nothing to do sleeps for less than the silence that is judged.
HASTY = IMPATIENT | {"REPLACE_GRACE_SECONDS": 8, "STOP_GRACE_SECONDS": 2, "NODE_SECONDS": 10, "IDLE_SECONDS": 0.75}


def main() -> int:
    options = parsed()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="routines-chaos-") as directory:
        settings = {
            "ROUTINES": HASTY,
            "CELERY_TASK_ROUTES": ["tests.chaos.router.route"],
            "CELERY_BROKER_CHANNEL_ERROR_RETRY": True,  # as the README says: Redis will be out of memory
        }
        stack = Stack(Path(directory), own_postgres=True, settings=settings)
        try:
            return run(stack, options, began)
        finally:
            stack.dispose()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--routines", type=int, default=ROUTINES)
    parser.add_argument("--only", default="", help=f"groups of acts, separated by commas: {', '.join(GROUPS)}")
    parser.add_argument("--verbose", action="store_true", help="tell each act")
    options = parser.parse_args()
    options.only = {group for group in options.only.split(",") if group}
    if unknown := options.only - set(GROUPS):
        parser.error(f"--only: {', '.join(sorted(unknown))}: there are {', '.join(GROUPS)}")
    return options


def run(stack: Stack, options: argparse.Namespace, began: float) -> int:
    def tell(text: str) -> None:
        if options.verbose:
            print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    random = Random(options.seed)
    names = create_fleet(random, options.routines)
    nemesis = Nemesis(stack, random, names, tell, options.only)
    nemesis.start()
    print(f"chaos: {len(names)} routines, {BEATS} beats, {WORKERS} workers, seed {options.seed}", flush=True)
    nemesis.rage(options.minutes * 60)
    unsettled = settle(nemesis, names, tell, options.minutes * 60)
    if not stack.bodies():
        unsettled = unsettled or "no body has written anything: there is nothing to judge"
    verdict = judge(stack.bodies, settled=True)
    print(verdict.page())
    print("faults injected     " + ", ".join(f"{kind} {count}" for kind, count in sorted(nemesis.injected.items())))
    print(f"started again       {nemesis.started_again} workers that had ended by themselves")
    wrong = [f"NOT SETTLED: {unsettled}"] if unsettled else []
    wrong += judge_conduct(nemesis) + judge_audit(options.minutes)
    print(f"took                {time.monotonic() - began:.0f} s")
    for line in wrong:
        print(line)
    if not verdict.balances or wrong:
        print(stories(verdict))
        print(stack.logs())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
