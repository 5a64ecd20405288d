"""Beats and workers: who is missing, who is silent, what they report, whose clock is off, which queue has nobody."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from celery.app import app_or_default
from django.db.models import QuerySet

from routines_app.coordination.broker import broker
from routines_app.core.words import RunStatus, RunTrigger
from routines_app.masks import masked_line
from routines_app.models import Role, RoutineRun, RoutineState
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.moments import readable
from routines_app.protocol.record.messages import as_text
from routines_app.verbs.health.movement import Overdue, overdue_routines
from routines_app.verbs.health.notices.notice import MOST_COUNTED, Notice, NoticeKind, NoticeLevel
from routines_app.verbs.health.standing import Presence, Seen, presence
from routines_app.verbs.reading import run_created_at

NAMED = 3  # of many; a line has an end
FAR_OFF_SECONDS = 1.0  # of a clock
SENT_LOOKED_AT = 5_000  # sent runs that are asked for their queue
TO_BE_TAKEN = timedelta(seconds=15)  # a worker takes what was sent at once, unless it is busy
NEWEST = 100  # runs that are looked through for the last that a beat has claimed

Waiting = dict[str, list[datetime]]


def alive(nodes: Sequence[Seen], role: Role, now: datetime) -> list[Seen]:
    """Those that are not gone; of workers those that take work."""
    ours = [node for node in nodes if node.role == role and presence(node.seen_at, now) is not Presence.GONE]
    return [node for node in ours if role is Role.BEAT or not node.draining]


def beats(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    """No beat, or one that does not claim what is due."""
    overdue = overdue_routines(now)
    if not alive(nodes, Role.BEAT, now):
        yield _no_beat(nodes, overdue)
    elif overdue.count:
        level = NoticeLevel.ALARM if overdue.is_still else NoticeLevel.WARNING
        yield Notice(kind=NoticeKind.OVERDUE, level=level, count=overdue.count, since=overdue.since)


def _no_beat(nodes: Sequence[Seen], overdue: Overdue) -> Notice:
    return Notice(
        kind=NoticeKind.NO_BEAT,
        level=NoticeLevel.ALARM if overdue.count or _is_planned() else NoticeLevel.WARNING,
        count=overdue.count,
        since=_last_seen(nodes, Role.BEAT) or _last_claimed() or overdue.since,
    )


def _is_planned() -> bool:
    """Whether there is anything that a beat would have to look at."""
    return RoutineState.objects.using(ledger_alias()).filter(next_run_at__isnull=False).exists()


def _last_seen(nodes: Sequence[Seen], role: Role) -> datetime | None:
    return max((node.seen_at for node in nodes if node.role == role), default=None)


def _last_claimed() -> datetime | None:
    """The newest sign of a beat that has left no row, because it ended in order or others have found it gone.

    An id carries the time at which its run was claimed. Only the newest runs are looked at: people may have asked for
    all of them.
    """
    newest = _runs().order_by("-pk").values_list("pk", "trigger")[:NEWEST]
    claimed = (RunTrigger.SCHEDULE, RunTrigger.HINT)
    return next((run_created_at(run_id) for run_id, trigger in newest if trigger in claimed), None)


def workers(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    """No worker at all, or none for a queue in which runs wait."""
    if app_or_default().conf.task_always_eager:
        return
    waiting, takers = _sent(now), alive(nodes, Role.WORKER, now)
    if not takers:
        yield _no_worker(nodes, [at for times in waiting.values() for at in times])
        return
    consumed = {name for node in takers for name in _queues(node)}
    if any(not _queues(node) for node in takers):  # it does not say which: it may take from any
        return
    alone = sorted(waiting.keys() - consumed, key=lambda name: (-len(waiting[name]), name))
    for name in alone[:NAMED]:
        yield _unconsumed([name], waiting)
    if alone[NAMED:]:
        yield _unconsumed(alone[NAMED:], waiting)


def _unconsumed(names: list[str], waiting: Waiting) -> Notice:
    sent = [at for name in names for at in waiting[name]]
    return Notice(
        kind=NoticeKind.UNCONSUMED,
        level=NoticeLevel.ALARM,
        count=min(len(sent), MOST_COUNTED),
        of=len(names),
        about=first_of(names),
        more=left_out(names),
        since=min(sent),
    )


def _no_worker(nodes: Sequence[Seen], sent: list[datetime]) -> Notice:
    return Notice(
        kind=NoticeKind.NO_WORKER,
        level=NoticeLevel.ALARM if sent or _is_planned() else NoticeLevel.WARNING,
        count=min(len(sent), MOST_COUNTED),
        since=_last_seen(nodes, Role.WORKER) or min(sent, default=None),
    )


def _sent(now: datetime) -> Waiting:
    """When the runs were sent that nobody has taken, by the queue that they are in, as far as that can be told.

    Of very many that wait some are looked at, and a queue that has none among them is not named.
    """
    sent = _runs().filter(readable("dispatched_at"), status=RunStatus.PENDING, dispatched_at__lt=now - TO_BE_TAKEN)
    rows = sent.order_by().values_list("task", "queue", as_text("routine__options"), "dispatched_at")
    by_way: dict[tuple[str, str, str], list[datetime]] = defaultdict(list)
    for task, queue, options, at in rows[:SENT_LOOKED_AT]:
        by_way[task, queue, options or ""].append(at)
    found: Waiting = defaultdict(list)
    for (task, queue, options), times in by_way.items():
        if name := broker().queue_of(task, queue, None, options):
            found[name] += times
    return found


def _queues(node: Seen) -> list[str]:
    return [str(name) for name in node.queues] if isinstance(node.queues, list) else []


def silent(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    """Those that have missed two reports, and three. Where a role has nobody left, that is said by itself."""
    manned = {role for role in Role if alive(nodes, role, now)}
    for kind, wanted in ((NoticeKind.DOUBTFUL, Presence.DOUBTFUL), (NoticeKind.GONE, Presence.GONE)):
        found = [node for node in nodes if presence(node.seen_at, now) is wanted and node.role in manned]
        if found:
            since = min(node.seen_at for node in found)
            names = [node.name for node in found]
            yield Notice(
                kind=kind,
                level=NoticeLevel.WARNING,
                count=len(found),
                about=first_of(names),
                more=left_out(names),
                since=since,
            )


def problems(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    """What those who are there cannot reach (Redis, the broker) or have found wrong around them."""
    here = [node for node in nodes if presence(node.seen_at, now) is not Presence.GONE]
    told: dict[str, list[Seen]] = defaultdict(list)
    for node in here:
        if node.problem:
            told[masked_line(node.problem).rstrip(".")].append(node)
    for text, by in sorted(told.items(), key=lambda item: -len(item[1]))[:NAMED]:
        of_role = [node for node in here if node.role in {one.role for one in by}]
        level = NoticeLevel.ALARM if len(by) == len(of_role) else NoticeLevel.WARNING
        yield Notice(kind=NoticeKind.PROBLEM, level=level, count=len(by), of=len(here), about=text)


def clocks(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    """As beats and workers have last compared their machine's clock with the database's."""
    here = [node for node in nodes if presence(node.seen_at, now) is not Presence.GONE]
    ahead = {node.name: seconds for node in here if (seconds := node.clock_ahead_seconds) is not None}
    off = sorted(((name, each) for name, each in ahead.items() if abs(each) > FAR_OFF_SECONDS), key=_most)
    if off:
        names = [name for name, _ in off]
        yield Notice(
            kind=NoticeKind.CLOCK,
            level=NoticeLevel.WARNING,
            count=len(off),
            about=first_of(names),
            more=left_out(names),
            clocks=tuple(off[:NAMED]),
        )


def _most(item: tuple[str, float]) -> float:
    return -abs(item[1])


def first_of(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED])


def left_out(names: Sequence[str]) -> int:
    return max(0, len(names) - NAMED)


def _runs() -> QuerySet[RoutineRun]:
    return RoutineRun.objects.using(ledger_alias())
