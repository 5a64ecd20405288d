"""How everybody behaved, beyond the ledger: silent beats, beats that would not leave, healthy bodies taken for dead."""

from __future__ import annotations

from collections import Counter

from routines_app import service
from routines_app.models import RoutineRun
from tests.chaos.attendance import MOST_SILENT_SECONDS
from tests.chaos.fleet import GIL_HOLDERS
from tests.chaos.nemesis import Nemesis
from tests.processes import stretched

MOST_TOLD = 8


def judge_conduct(nemesis: Nemesis) -> list[str]:
    """Print what was measured; what is wrong with it."""
    bound = stretched(MOST_SILENT_SECONDS)
    seconds, name = nemesis.attendance.longest(nemesis.raged_until)
    declared_dead = taken_for_dead(nemesis)
    print(f"longest silence     {seconds:.2f} s ({name}; at most {bound:.1f} s on this machine, as busy as it is)")
    print(f"would not leave     {len(nemesis.would_not_leave)} of {nemesis.injected['SIGTERM to a beat']} beats")
    print(f"taken for dead      {len(declared_dead)} healthy bodies that held the GIL")
    silent = f"A BEAT WAS SILENT for {seconds:.2f} s: {name}\n{nemesis.attendance.stacks(name)}"
    wrong = [silent] if seconds > bound else []
    wrong += [f"A BEAT WOULD NOT LEAVE: {text}" for text in nemesis.would_not_leave]
    return wrong + [f"TAKEN FOR DEAD: {text}" for text in declared_dead]


def taken_for_dead(nemesis: Nemesis) -> list[str]:
    """Bodies that returned by themselves in a process that nobody had frozen, and whose row says otherwise."""
    returned = {
        body.run
        for name in GIL_HOLDERS
        for body in nemesis.stack.bodies(name)
        if body.how == "returned" and body.pid not in nemesis.frozen
    }
    dead = RoutineRun.objects.filter(routine__name__in=GIL_HOLDERS, reason__in=["orphaned", "worker_lost"])
    return [
        f"{run.routine.name} {run.id} ({run.reason}) on {run.worker}: started {run.started_at:%T.%f},"
        f" last heartbeat {run.heartbeat_at:%T.%f}, ended {run.completed_at:%T.%f}"
        for run in dead.select_related("routine")
        if str(run.id) in returned
    ]


def judge_audit(minutes: float) -> list[str]:
    """What the audit of the package makes of it. Its warnings are told, not judged: beats and workers were killed."""
    found = service.audit(f"{int(minutes * 60) + 900}s", late="20s")
    by_kind = Counter(warning.kind for warning in found.warnings)
    print("audit               " + ("balances" if found.balances else f"{len(found.imbalances)} imbalances"))
    print("audit's warnings    " + (", ".join(f"{kind} {count}" for kind, count in sorted(by_kind.items())) or "-"))
    for finding in [*found.imbalances[:MOST_TOLD], *found.warnings[:MOST_TOLD]]:
        print(f"  {finding}")
    return [] if found.balances else ["THE AUDIT FINDS THAT THE LEDGER DOES NOT BALANCE"]
