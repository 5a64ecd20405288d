"""The beat's loop: look, act, and wait for the next due moment or a wake-up.

`tick` never raises and never blocks for long. Each of the two outsides, database and broker, is either there or away;
the change is logged once, the next try comes after at most MAX_SLEEP_SECONDS, and everything that does not need the
missing one goes on. An error of the database that is no outage concerns the part of the look that met it (`guard.py`).
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import Error, close_old_connections, connections

from routines_app.beat.chore import Chore
from routines_app.beat.declared import Declarations
from routines_app.beat.departure import Departure
from routines_app.beat.done import Done
from routines_app.beat.guard import Guard
from routines_app.beat.outside import Outside
from routines_app.beat.seen_broker import SeenBroker
from routines_app.beat.sender import Sender
from routines_app.conf import get_settings
from routines_app.coordination import redis_client, wakeups
from routines_app.models import Role
from routines_app.protocol.claim.claim import claim_due, passed_by, set_aside
from routines_app.protocol.claim.due import next_due_at
from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage
from routines_app.protocol.ledger.timeouts import bounded_reads
from routines_app.protocol.publish.pools import admit_each_pool
from routines_app.protocol.publish.waiting import dispatch_waiting, next_waiting_at
from routines_app.protocol.upkeep import nodes, reconcile
from routines_app.protocol.upkeep.orphans import Observer
from routines_app.verbs.health.sign import Sign
from routines_app.verbs.replan import replan_forgotten

logger = logging.getLogger(__name__)

MIN_SLEEP_SECONDS = 0.02  # due moments closer together than this are claimed in one go
FEW_MESSAGES = 100  # fewer are sent faster than a thread for them is started
POOL_LOOK_SECONDS = 0.25
REPAIR_SECONDS = 3600.0  # the one look that goes over all routines: at the start, and then rarely
BUSY_SECONDS = 1.0  # a pass that has worked this long lets signals and chores have their turn
MORE_SECONDS = 0.1  # until a chore that takes long goes on: what is due comes first
LOCKED_SECONDS = (0.1, 1.0)  # due rows that another beat holds: look again after the first, doubling to the last


class BeatLoop:
    """One beat process's loop."""

    def __init__(self, app: Any) -> None:
        self._departure = Departure()
        self._sign = Sign(Role.BEAT)
        self._database = Outside("the database")
        self._listener = wakeups.Listener(wakeups.BEATS)
        self._observer = Observer()
        self._declarations = Declarations(app)
        self._done = Done()
        self._broker = SeenBroker(self._done.published)
        self._guard = Guard()
        self._declaring = Chore(
            "importing declared routines", self._declare, lambda: get_settings().node_seconds, self._guard
        )
        self._repair = Chore("repairing plans", self._repair_plans, lambda: REPAIR_SECONDS, self._guard)
        self._chores: list[Chore] = [
            Chore("the upkeep", self._reconcile, lambda: get_settings().reconcile_seconds, self._guard),
            Chore("finding losses", self._broker.find_losses, self._broker.seconds_to_the_next_look, self._guard),
            self._declaring,
            self._repair,
            Chore("reporting this beat", self._report_node, lambda: get_settings().node_seconds, self._guard),
            Chore("reporting news", self._report_news, lambda: get_settings().reconcile_seconds, self._guard),
            Chore("warming up", self._warm_up, lambda: float("inf"), self._guard),
        ]
        self._told = ("", "")
        self._pools = PoolLooks()
        self._due_at: datetime | None = None
        self._look_at = 0.0
        self._looked_at = 0.0
        self._idle = 0
        self._locked = 0
        self._has_more = True

    def listen_for_signals(self) -> None:
        """Leave between two steps of the work when the process is told to end."""
        self._departure.listen()

    def tick(self) -> None:
        """Wait a slice, or look; with SystemExit if the process was told to end."""
        try:
            self._wait_or_look()
            self._departure.leave_if_asked()
        except SystemExit:  # here, or out of the wait
            self._say_goodbye()
            raise

    def _wait_or_look(self) -> None:
        woken = self._wait(self._look_at - time.monotonic())
        self._pools.pooled(woken)  # the wake-up may tell of room
        if woken:  # a storm of wake-ups must not become a storm of looks
            time.sleep(max(0.0, self._looked_at + MIN_SLEEP_SECONDS - time.monotonic()))
        if woken or time.monotonic() >= self._look_at:
            self._looked_at = time.monotonic()
            self._look_at = time.monotonic() + self._guarded_look()

    def close(self) -> None:
        """Let go of signals and sockets. Called inside Celery's signal handler too, so no database work."""
        self._departure.close()
        self._listener.close()

    def _wait(self, seconds: float) -> bool:
        """Whether somebody woke us within the slice."""
        if seconds <= 0:
            return False
        with self._departure.idle():
            return bool(self._listener.wait(seconds))

    def _guarded_look(self) -> float:
        """Look, and whatever happens say how long to wait."""
        close_old_connections()
        try:
            with bounded_reads():
                wait = self._look()
        except Error as error:
            if self._departure.is_asked:
                return 0.0  # it was cancelled, so that we can leave
            if not is_outage(error):
                return self._failed(error)
            self._sign.leave()  # we are well: a restart would not bring the database back
            self._observer.reset()  # silence that we could not hear is not silence
            connections[ledger_alias()].close()
            return self._database.is_away(error)
        except Exception as error:  # noqa: BLE001 - a bug must not end the beat: it would stop every routine
            return self._failed(error)
        self._database.is_back()
        self._sign.leave()
        return wait

    def _failed(self, error: Exception) -> float:
        logger.error("the tick failed", exc_info=error)
        return get_settings().max_sleep_seconds

    def _look(self) -> float:
        """One pass over what is due; the seconds until the next. With nothing due it costs two short statements."""
        began, looked_at, self._has_more = time.monotonic(), clock.now(), True
        worked = self._guard.do("claiming", lambda: self._is_due(looked_at) and self._fire_due(began), otherwise=False)
        worked = self._guard.do("sending", lambda: self._send_waiting(began), otherwise=False) or worked
        for chore in self._chores:
            if not self._departure.is_asked:
                chore.do_when_due()
        self._done.tell()
        if self._departure.is_asked:
            return 0.0
        return self._guard.do(
            "looking ahead", lambda: self._sleep_seconds(worked, looked_at), otherwise=LOCKED_SECONDS[1]
        )

    def _is_due(self, looked_at: datetime) -> bool:
        # What the last look went to sleep for need not be asked for again.
        expected = self._due_at is not None and self._due_at <= looked_at
        return expected or bool(set_aside.rested()) or _is_over(next_due_at())

    def _fire_due(self, began: float) -> bool:
        batch = get_settings().claim_batch
        worked, more = False, True
        with Sender(self._broker.send) as sender:
            while more and self._has_time(began):
                report = claim_due(clock.now(), batch)
                self._done.claimed(report)
                more = report.claimed == batch or report.left
                sender.send(report.messages, more=more)
                self._pools.pooled(report.pooled)
                worked = worked or report.claimed > 0
        self._has_more = more
        return worked

    def _send_waiting(self, began: float) -> bool:
        """What waits in the outbox, and what the pools have room for. Pointless while the broker is away.

        Once at least: claims that go on and on must not keep what they have claimed from going out.
        """
        worked, more = False, not self._departure.is_asked
        while more and not self._broker.is_resting:
            with Sender(self._broker.send) as sender:
                more = self._send_once(sender, worked)
            worked = worked or more
            more = more and self._has_time(began)
        return worked

    def _has_time(self, began: float) -> bool:
        return not self._departure.is_asked and time.monotonic() - began < BUSY_SECONDS

    def _send_once(self, sender: Sender, goes_on: bool) -> bool:
        now = clock.now()
        waiting = dispatch_waiting(now) if _is_over(next_waiting_at()) else []
        sender.send(waiting, more=False)
        sent = len(waiting)
        if self._pools.is_time_to_look(goes_on):
            for admitted in admit_each_pool(now):
                sender.send(admitted, more=len(admitted) >= FEW_MESSAGES)
                sent += len(admitted)
                if self._departure.is_asked:
                    break
        return sent > 0

    def _sleep_seconds(self, worked: bool, looked_at: datetime) -> float:
        settings = get_settings()
        self._idle = 0 if worked else min(self._idle + 1, 2)
        longest = min(settings.idle_seconds * 2.0**self._idle, settings.max_sleep_seconds)
        # What is set aside is due all the time; it has its own rests.
        self._due_at, now = next_due_at(without=set_aside.ids), clock.now()
        due = _seconds_until(self._due_at, now)
        if due <= 0 and self._due_at is not None and self._due_at > looked_at:
            return MIN_SLEEP_SECONDS  # it became due while this look was at something else
        if due <= 0 and self._due_at is not None and not self._has_more:
            passed_by.look(self._due_at, looked_at)
        # While the broker is away waiting rows are overdue for as long as that lasts.
        waiting = longest if self._broker.is_resting else max(_seconds_until(next_waiting_at(), now), 0.1)
        chores = min(chore.seconds_left for chore in self._chores)
        longest = min(longest, waiting, chores, set_aside.seconds_left())
        if due <= 0:  # others are on time all the same
            later = _seconds_until(next_due_at(after=now, without=set_aside.ids), now)
            return max(MIN_SLEEP_SECONDS, min(self._locked_seconds(worked), longest, later))
        self._locked = 0
        return max(MIN_SLEEP_SECONDS, min(longest, due))

    def _locked_seconds(self, worked: bool) -> float:
        """Something is due and we did not get it: somebody else has it, or has died holding it."""
        first, last = LOCKED_SECONDS
        self._locked = 0 if worked else self._locked + 1
        backed_off: float = first * 2.0 ** (self._locked - 1)
        return MIN_SLEEP_SECONDS if worked else min(last, backed_off)

    def _reconcile(self) -> None:
        reconcile.reconcile_once(clock.now(), self._observer, time.monotonic())

    def _declare(self) -> None:
        if self._declarations.sync(clock.now()):
            self._declaring.come_again(MORE_SECONDS)

    def _repair_plans(self) -> None:
        repaired = replan_forgotten()
        if repaired.planned:
            logger.warning("%s routines had no plan and have one now", repaired.planned)
        if repaired.left:
            self._repair.come_again(get_settings().node_seconds)

    def _warm_up(self) -> None:
        """The first slot should not have to wait for a connection to the broker."""
        self._fire_due(time.monotonic())
        self._broker.connect()

    def _report_node(self) -> None:
        nodes.report_beat(self._declarations.scope, self._broker.problem)
        self._told = redis_client.problem(), self._broker.problem

    def _say_goodbye(self) -> None:
        """In its lifetime, that it ended in order. Whoever wants to leave waits for no database that was away."""
        if not self._database.is_failing:
            with suppress(Error):
                nodes.leave_as_beat()

    def _report_news(self) -> None:
        """That Redis or the broker is away, or back, is told at once."""
        if (redis_client.problem(), self._broker.problem) != self._told:
            self._report_node()


class PoolLooks:
    """When to look for room in the pools: after something pooled was claimed, and a few times a second at most."""

    def __init__(self) -> None:
        self._wanted = False
        self._next = 0.0

    def pooled(self, claimed: bool) -> None:
        self._wanted = self._wanted or claimed

    def is_time_to_look(self, goes_on: bool) -> bool:
        wanted = self._wanted or goes_on or time.monotonic() >= self._next
        self._wanted = False
        if wanted:
            self._next = time.monotonic() + POOL_LOOK_SECONDS
        return wanted


def _is_over(moment: datetime | None) -> bool:
    return moment is not None and moment <= clock.now()


def _seconds_until(moment: datetime | None, now: datetime) -> float:
    return float("inf") if moment is None else (moment - now).total_seconds()
