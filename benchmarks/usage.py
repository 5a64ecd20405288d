"""What a process uses: CPU time and memory."""

from __future__ import annotations

from pathlib import Path

import psutil

MIB = 2**20


def cpu_seconds(*pids: int | None) -> float:
    """CPU time that these processes have used so far, all threads together."""
    return sum(_cpu_seconds(pid) for pid in pids if pid is not None)


def _cpu_seconds(pid: int) -> float:
    """Linux counts it in nanoseconds; elsewhere there are hundredths of a second, too coarse for an idle beat."""
    threads = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    if threads:
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def memory_mib(pid: int) -> float:
    """The memory that would be free again if the process ended."""
    return float(psutil.Process(pid).memory_full_info().uss) / MIB


def resident_mib(pid: int) -> float:
    """What the process has in memory, pages included that it shares with its parent.

    For children of a pool: the first full garbage collection writes to every object, which turns shared pages into
    own ones without one byte more being used.
    """
    return float(psutil.Process(pid).memory_info().rss) / MIB
