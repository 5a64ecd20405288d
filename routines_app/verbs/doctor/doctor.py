"""Asks everything that is worth asking about a deployment, and says what to do about what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from routines_app.masks import masked_line
from routines_app.protocol.ledger.timeouts import bounded_reads
from routines_app.verbs.deadline import within
from routines_app.verbs.doctor import database, fleet, project, schema, servers, shadow, work
from routines_app.verbs.doctor.answers import Answer, Level

SECONDS = 5.0  # for each question
AWAY = "the database could not be asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor's."""

    check: str
    """What was asked."""
    level: Level
    found: str
    advice: str
    """What to do; empty where nothing is."""


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    ask: Callable[[], Answer | Iterable[Answer]]
    needs_database: bool = True


DATABASE = _Check("database", database.kind, needs_database=False)
CHECKS = (
    DATABASE,
    _Check("isolation", database.isolation),
    _Check("migrations", schema.migrations),
    _Check("foreign keys", schema.foreign_keys),
    _Check("clocks", database.clocks),
    _Check("broker", servers.broker, needs_database=False),
    _Check("redis", servers.redis, needs_database=False),
    _Check("redis eviction", servers.eviction, needs_database=False),
    _Check("redis database", servers.own_database, needs_database=False),
    _Check("beats", fleet.beats),
    _Check("workers", fleet.workers),
    _Check("versions", fleet.versions),
    _Check("queues", fleet.queues),
    _Check("waiting", work.waiting),
    _Check("overdue", work.overdue),
    _Check("tasks", work.tasks),
    _Check("never fire", work.never_fire),
    _Check("parked", work.parked),
    _Check("failing", work.failing),
    _Check("shadow", shadow.shadow),
    _Check("scheduler", project.scheduler),
    _Check("system checks", project.system_checks, needs_database=False),
)


def doctor(*, seconds: float = SECONDS) -> list[Finding]:
    """Everything, in the order of the list; a check has one line at least. Reads only, and never raises.

    Each is asked by itself, within so many seconds, in a thread of its own: one that fails or hangs is a line, and the
    others go on. Without a database those that need it are not asked one after another.
    """
    findings: list[Finding] = []
    is_away = False
    for check in CHECKS:
        if is_away and check.needs_database:
            answers = [Answer(Level.UNKNOWN, f"could not be asked: {AWAY}")]
        else:
            answers = _answers(check, seconds)
        if check is DATABASE and answers[0].level is Level.UNKNOWN:
            is_away = True
            answers = [
                Answer(Level.ERROR, answers[0].found, "start it, or correct DATABASES; nothing works without it")
            ]
        findings += [Finding(check=check.name, level=a.level, found=a.found, advice=a.advice) for a in answers]
    return findings


def _answers(check: _Check, seconds: float) -> list[Answer]:
    try:
        return within(seconds, lambda: _ask(check))
    except Exception as error:  # noqa: BLE001 - whatever it is: the others are asked all the same
        first_line = (str(error).strip() or type(error).__name__).partition("\n")[0]
        return [Answer(Level.UNKNOWN, f"could not be asked: {masked_line(first_line)}")]


def _ask(check: _Check) -> list[Answer]:
    if not check.needs_database:
        return _listed(check.ask())
    with bounded_reads():
        return _listed(check.ask())


def _listed(answer: Answer | Iterable[Answer]) -> list[Answer]:
    return [answer] if isinstance(answer, Answer) else list(answer)
