"""What is wrong with the fleet, and how bad it is: asked now, or for whoever looks again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import Error

from routines_app.core.said import Said
from routines_app.masks import masked_line
from routines_app.models import Role
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.timeouts import bounded_reads
from routines_app.verbs.health.notices import nodes as about_nodes
from routines_app.verbs.health.notices.backlog import backlog
from routines_app.verbs.health.notices.notice import Notice, NoticeKind, NoticeLevel
from routines_app.verbs.health.notices.others import other_scheduler
from routines_app.verbs.health.notices.work import failing, parked
from routines_app.verbs.health.shared import SharedAnswer, Unanswered
from routines_app.verbs.health.standing import Seen, seen_nodes

FRESH_SECONDS = 4  # less than a page waits before it asks again
KEPT_SECONDS = 10  # while it is asked anew beside: two looks of a page, so nobody waits for it while somebody looks
SECONDS = 1.0  # a page that waits longer is worse than one that does not know
WORST_FIRST = (NoticeLevel.ALARM, NoticeLevel.WARNING, NoticeLevel.CALM)

Topic = Callable[[], Iterable[Notice]]

_shared = SharedAnswer("notices-2")


@dataclass(frozen=True, slots=True)
class Notices:
    """All that there is to know, the worst first; never empty: one calm notice says that all is well."""

    notices: tuple[Notice, ...]

    @property
    def level(self) -> NoticeLevel:
        """Of the worst."""
        return self.notices[0].level


def fleet_notices() -> Notices:
    """What is wrong now, each thing by itself: a question that fails is a notice, and the others are asked all the
    same. Reads only, by bounded statements, and never raises over a database."""
    with bounded_reads():
        try:
            nodes = seen_nodes(list(Role))
        except Error as error:
            return Notices((_unasked(error),))
        found = list(_found(nodes, clock.now()))
    return Notices(tuple(sorted(found, key=lambda each: WORST_FIRST.index(each.level))) or (_well(nodes),))


def recent_notices() -> Notices:
    """The same, at most ten seconds old, for pages that many look at: asked once in four seconds for all processes that
    share Django's cache, beside those who look; where nobody has looked for longer, within two seconds. Never raises:
    what could not be asked is a notice."""
    try:
        now = clock.now()
        facts = _shared.kept("all", _facts, now=now, fresh_seconds=FRESH_SECONDS, kept_seconds=KEPT_SECONDS)
        if facts is None:
            facts = _shared.get("all", _facts, seconds=SECONDS, kept_seconds=KEPT_SECONDS, now=now)
        return Notices(tuple(_notice(one) for one in facts["notices"]))
    except Unanswered as error:
        return Notices((_unasked(error),))
    except Exception as error:  # noqa: BLE001 - a page is shown whatever is wrong with what is asked for it
        return Notices((_unasked(error),))


def _found(nodes: Sequence[Seen], now: datetime) -> Iterator[Notice]:
    topics: tuple[Topic, ...] = (
        lambda: about_nodes.beats(nodes, now),
        lambda: about_nodes.workers(nodes, now),
        lambda: about_nodes.problems(nodes, now),
        other_scheduler,
        lambda: backlog(now),
        lambda: about_nodes.silent(nodes, now),
        lambda: about_nodes.clocks(nodes, now),
        parked,
        failing,
    )
    for topic in topics:
        try:
            yield from list(topic())
        except Error as error:
            yield _unasked(error)


def _unasked(error: Exception) -> Notice:
    return Notice(kind=NoticeKind.UNASKED, level=NoticeLevel.WARNING, about=_problem(error))


def _problem(error: Exception) -> str:
    """Our own words can be translated; those of others are one line, masked."""
    if error.args and isinstance(error.args[0], Said):
        return error.args[0]
    first_line = (str(error).strip() or type(error).__name__).partition("\n")[0].rstrip(".")
    return masked_line(first_line)


def _well(nodes: Sequence[Seen]) -> Notice:
    now = clock.now()
    counts = [len(about_nodes.alive(nodes, role, now)) for role in (Role.BEAT, Role.WORKER)]
    return Notice(kind=NoticeKind.WELL, level=NoticeLevel.CALM, count=counts[0], of=counts[1])


def _facts() -> dict[str, Any]:
    """What a cache keeps: no class of ours, which another release may have otherwise."""
    return {
        "notices": [asdict(one) | {"kind": str(one.kind), "level": str(one.level)} for one in fleet_notices().notices]
    }


def _notice(facts: dict[str, Any]) -> Notice:
    return Notice(**(facts | {"kind": NoticeKind(facts["kind"]), "level": NoticeLevel(facts["level"])}))
