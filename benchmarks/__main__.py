"""`python -m benchmarks [--quick] [--only NAME …] [--list]`: measure, print one table, leave files to look at."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from benchmarks.figures import Figure, Series
from benchmarks.servers import Servers, process_environment

SCENARIOS = ("burst", "steady", "idle", "edit", "two_beats", "worker", "killed_children", "rotation", "admin")
TOO_LONG_FOR_QUICK = {"killed_children", "admin"}  # the admin needs large tables to say anything
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    options = parse()
    if options.list:
        for name in SCENARIOS:
            print(f"{name:16}{first_line(name)}")
        return 0
    with Servers() as servers:
        prepare_django(servers)
        figures, series = run(servers, options.only or all_of(options.quick), options.quick)
    report(figures, series, options.quick)
    return int(not options.quick and any(figure.passed is False for figure in figures))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, under a minute; too small to judge bars by")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="one scenario; may be given again")
    parser.add_argument("--list", action="store_true", help="say what there is and do nothing")
    return parser.parse_args()


def first_line(name: str) -> str:
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return source.split('"""')[1].splitlines()[0]


def all_of(quick: bool) -> list[str]:
    return [name for name in SCENARIOS if not (quick and name in TOO_LONG_FOR_QUICK)]


def prepare_django(servers: Servers) -> None:
    """This process reads and writes too; where it does is changed with each deployment."""
    os.environ.update(process_environment(servers.new_database(), servers.redis_url(0), "bench"))
    import django

    django.setup()


def run(servers: Servers, names: Iterable[str], quick: bool) -> tuple[list[Figure], list[Series]]:
    from benchmarks.bench import Bench
    from benchmarks.progress import Progress

    bench = Bench(servers, quick, Progress())
    found: list[Figure | Series] = []
    for name in names:
        found += import_module(f"benchmarks.{name}").measure(bench)
    bench.progress.end()
    return [one for one in found if isinstance(one, Figure)], [one for one in found if isinstance(one, Series)]


def report(figures: list[Figure], series: list[Series], quick: bool) -> None:
    from benchmarks import plot, table

    RESULTS.mkdir(exist_ok=True)
    name = "quick" if quick else "full"
    table.write_markdown(figures, RESULTS / f"{name}.md", f"Benchmarks ({name})")
    plot.draw(series, RESULTS / f"{name}.png")
    print(table.as_text(figures))
    print(f"\nwritten to {RESULTS.name}/{name}.md and {name}.png in {RESULTS.parent}")


if __name__ == "__main__":
    sys.exit(main())
