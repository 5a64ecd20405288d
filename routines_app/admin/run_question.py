"""What the address of a list of runs asks for. What cannot be read is said, and then no run is meant: never all."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from routines_app import service
from routines_app.admin.phrases import clock_time
from routines_app.admin.translating import translated
from routines_app.core.errors import InvalidValue, NotFound, RoutineError
from routines_app.core.said import said
from routines_app.core.words import Reason, RunStatus, RunTrigger
from routines_app.models import Routine
from routines_app.models.choices import label_of

RANGES = {
    "hour": gettext_lazy("Last hour"),
    "today": gettext_lazy("Today"),
    "24h": gettext_lazy("Last 24 hours"),
    "7d": gettext_lazy("Last 7 days"),
}
LENGTHS = {"hour": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
WORDS = {
    "status": gettext_lazy("status"),
    "trigger": gettext_lazy("trigger"),
    "reason": gettext_lazy("reason"),
    "pool": gettext_lazy("pool"),
    "queue": gettext_lazy("queue"),
    "worker": gettext_lazy("worker"),
    "task": gettext_lazy("task"),
    "error": gettext_lazy("error"),
}
CODES = {"status": RunStatus, "trigger": RunTrigger, "reason": Reason}
TIMES = ("range", "from", "until", "slot")
CURSORS = ("before", "after")
OLDER_NAMES = {"status__exact": "status", "trigger__exact": "trigger"}  # of addresses that somebody has kept
OWN = ("q", "routine", *WORDS, "final", *TIMES, *CURSORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked for, as it was typed and as it was understood."""

    typed: Mapping[str, str]
    meant: service.RunSelection | None
    """None: something of it cannot be read, see `problems`."""
    problems: Mapping[str, str]
    routine: Routine | None = None
    run_id: uuid.UUID | None = None
    """Of one run that was searched for by its id."""
    slot: datetime | None = None
    before: uuid.UUID | None = None
    after: uuid.UUID | None = None

    @classmethod
    def of(cls, asked: QueryDict, now: datetime, *, usually: str = "") -> Question:
        """`usually` is the range where none is asked for."""
        return _Reader(_typed(asked, usually), now).question()

    def address(self, **changed: object) -> str:
        """The same list with other parameters, without those that are None; the cursor is left behind."""
        kept = {name: text for name, text in self.typed.items() if name not in CURSORS}
        wanted = kept | {name.rstrip("_"): value for name, value in changed.items()}
        query = QueryDict(mutable=True)
        query.update({name: str(value) for name, value in wanted.items() if value not in (None, "")})
        return f"?{query.urlencode()}"

    def fixed(self) -> str:
        """The same filter for as long as it takes: with times that do not move on with the clock."""
        if self.meant is None:
            return ""
        since, until = (at and at.isoformat() for at in (self.meant.since, self.meant.until))
        return self.address(range=None, slot=None, from_=since, until=until).removeprefix("?")

    def in_words(self) -> list[tuple[str, str]]:
        """What it asks for, a part after another."""
        told = [(_("routine"), self.routine.name)] if self.routine else []
        told += [(str(label), _called(name, self.typed[name])) for name, label in WORDS.items() if name in self.typed]
        told += [(pgettext("only these runs", "only"), _("final failures"))] if self.typed.get("final") else []
        if self.meant is not None:
            zone = timezone.get_current_timezone()
            times = ((_("made since"), self.meant.since), (_("made before"), self.meant.until))
            told += [(name, clock_time(at, zone)) for name, at in times if at is not None]
        return told


def _called(name: str, typed: str) -> str:
    """A code as people call it; what was typed freely, as it is."""
    return label_of(CODES[name], typed) if name in CODES else typed


def _typed(asked: QueryDict, usually: str) -> dict[str, str]:
    """Without what was left empty; a form sends all of its fields."""
    given = {name: asked.get(name, "").strip() for name in OWN}
    for old, name in OLDER_NAMES.items():
        given[name] = given[name] or asked.get(old, "").strip()
    if usually and not (given["range"] or given["from"] or given["until"]):
        given["range"] = usually
    if given["from"] or given["until"]:
        given["range"] = ""  # what is typed goes before what is chosen
    return {name: text for name, text in given.items() if text}


@dataclass(slots=True)
class _Reader:
    """Reads one part after another, and keeps what is wrong with them."""

    typed: dict[str, str]
    now: datetime
    problems: dict[str, str] = field(default_factory=dict)

    def question(self) -> Question:
        run_id = self._uuid("q") if _is_uuid(self.typed.get("q", "")) else None
        routine = self._routine(searched=run_id is None)
        since, until = self._times()
        slot, before, after = self._moment("slot"), self._uuid("before"), self._uuid("after")
        words = {name: self.typed.get(name) for name in WORDS}
        final = self.typed.get("final") == "1"
        meant = self._meant(routine=routine, since=since, until=until, final=final, **words)
        return Question(
            typed=self.typed,
            meant=None if self.problems else meant,
            problems=self.problems,
            routine=routine,
            run_id=run_id,
            slot=slot,
            before=before,
            after=after,
        )

    def _meant(self, **parts: Any) -> service.RunSelection | None:
        try:
            return service.RunSelection.of(**parts)
        except RoutineError as refused:
            self.problems[refused.field] = translated(refused)
            return None

    def _routine(self, *, searched: bool) -> Routine | None:
        """By its id, or by its name, which is looked up first: an index leads from the id to its runs."""
        ref, name = self.typed.get("routine", ""), self.typed.get("q", "") if searched else ""
        if not ref and not name:
            return None
        part = "routine" if ref else "q"
        try:
            if ref and not service.is_id(ref):
                raise NotFound("routine", ref, said("give the id of a routine"))
            return service.find_routine(int(ref) if ref else name)
        except RoutineError as refused:
            unknown = _("No routine is called {name}, and it is no run's id.").format(name=repr(name))
            self.problems[part] = translated(refused) if ref else unknown
            return None

    def _times(self) -> tuple[datetime | None, datetime | None]:
        chosen = self.typed.get("range")
        if chosen is None:
            return self._moment("from"), self._moment("until")
        if chosen == "today":
            return timezone.localtime(self.now).replace(hour=0, minute=0, second=0, microsecond=0), None
        if chosen in LENGTHS:
            return self.now - LENGTHS[chosen], None
        wrong = InvalidValue("range", chosen, said("give one of {choices}", choices=", ".join(RANGES)))
        self.problems["range"] = translated(wrong)
        return None, None

    def _moment(self, name: str) -> datetime | None:
        text = self.typed.get(name)
        if text is None:
            return None
        try:
            return service.read_moment(name, text, now=self.now, zone=timezone.get_current_timezone())
        except RoutineError as refused:
            self.problems[name] = translated(refused)
            return None

    def _uuid(self, name: str) -> uuid.UUID | None:
        text = self.typed.get(name, "")
        if not text:
            return None
        if not _is_uuid(text):
            self.problems[name] = translated(InvalidValue(name, text, said("give the id of a run")))
            return None
        return uuid.UUID(text)


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
