"""Beats and workers: who is there, in which versions, and which queues nobody consumes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from celery.app import app_or_default
from django.db.models import Count

from routines_app.coordination.broker import BrokerAway, broker
from routines_app.coordination.server_facts import ask_broker
from routines_app.core.rotation import TICK_TASK
from routines_app.core.words import RoutineStatus, RunStatus
from routines_app.models import Node, Role, Routine, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.record.messages import as_text
from routines_app.protocol.upkeep.nodes import versions as own_versions
from routines_app.verbs.doctor.answers import Answer, counted, error, ok, some_of, warning
from routines_app.verbs.doctor.nodes import alive_nodes

START_BEAT = "start one: celery -A project beat -S routines"
START_WORKER = "start one: celery -A project worker"


def beats() -> Answer:
    return _alive(alive_nodes(Role.BEAT), "beat", START_BEAT)


def workers() -> Answer:
    found = alive_nodes(Role.WORKER)
    if found and all(node.draining for node in found):
        return error(f"{counted(len(found), 'worker')}, none of which takes more work", START_WORKER)
    return _alive(found, "worker", START_WORKER)


def _alive(nodes: list[Node], what: str, advice: str) -> Answer:
    if not nodes:
        return error(f"no {what} has reported itself lately", advice)
    problems = [f"{node.name}: {problem}" for node in nodes for problem in node.problems]
    if problems:
        tell = error if all(node.problems for node in nodes) else warning
        return tell(some_of(problems), "see its log, and whether that process can reach its servers")
    return ok(f"{counted(len(nodes), what)}: {some_of([node.name for node in nodes])}")


def versions() -> Answer:
    """Of what this process runs, and where beats and workers run something else."""
    ours, nodes = own_versions(), alive_nodes()
    others = [told for name, version in ours.items() for told in _differing(name, version, nodes)]
    told = ", ".join(f"{name} {version}" for name, version in ours.items())
    if not others:
        return ok(told)
    return warning(
        f"{some_of(others)}; here: {told}", "restart what has not been upgraded, or upgrade where this was asked"
    )


def _differing(package: str, ours: str, nodes: Iterable[Node]) -> Iterator[str]:
    theirs = defaultdict(list)
    for node in nodes:
        version = node.versions.get(package, ours)
        if version != ours:
            theirs[version].append(node.name)
    for version, names in sorted(theirs.items()):
        yield f"{package} {version} on {some_of(names)}"


def queues() -> Answer:
    """By what workers report, and by what the broker knows: RabbitMQ counts consumers, Redis does not."""
    if app_or_default().conf.task_always_eager:
        return ok("task_always_eager: none is used")
    waiting, named = _queues_of(_sent()), _queues_of(_active())
    consumed = {name for node in alive_nodes(Role.WORKER) if not node.draining for name in node.queues}
    alone = [name for name in sorted(waiting.keys() | named.keys()) if name not in consumed]
    alone = [name for name in alone if name not in _consumed_by_strangers(alone)]
    if stuck := [f"{name!r} ({counted(waiting[name], 'run')} waiting)" for name in alone if waiting[name]]:
        return error(f"no worker consumes {some_of(stuck)}", "start a worker with -Q and that name")
    if unused := [f"{name!r} ({counted(named[name], 'routine')})" for name in alone]:
        return warning(f"no worker consumes {some_of(unused)}", "start a worker with -Q and that name")
    return ok(
        f"each of {counted(len(waiting.keys() | named.keys()), 'queue')} has a worker" if named else "none is used"
    )


def _sent() -> Any:
    runs = RoutineRun.objects.using(ledger_alias()).filter(status=RunStatus.PENDING, dispatched_at__isnull=False)
    return runs.values_list("task", "queue", as_text("routine__options"))


def _active() -> Any:
    routines = Routine.objects.using(ledger_alias()).filter(status=RoutineStatus.ACTIVE).exclude(task=TICK_TASK)
    return routines.values_list("task", "queue", as_text("options"))


def _queues_of(kinds: Any) -> Counter[str]:
    """How many go to each queue, as far as that can be told without their arguments."""
    found: Counter[str] = Counter()
    for task, queue, options, count in kinds.annotate(count=Count("pk")).order_by():
        if name := broker().queue_of(task, queue, None, options or ""):
            found[name] += count
    return found


def _consumed_by_strangers(names: list[str]) -> set[str]:
    """Workers that report themselves nowhere, as those of another project that has the tasks."""
    if not names:
        return set()
    try:
        return {name for name, count in ask_broker(names).consumers.items() if count}
    except BrokerAway:
        return set()  # that has its own line
