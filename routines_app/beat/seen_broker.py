"""The broker as a beat sees it: whether to send, and whether to look for what it may have lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from routines_app.beat.outside import Outside
from routines_app.conf import get_settings
from routines_app.coordination.broker import BrokerAway, BrokerRefuses
from routines_app.coordination.envelope import Message
from routines_app.protocol.ledger import clock
from routines_app.protocol.publish import outbox
from routines_app.protocol.publish.eager import is_eager
from routines_app.protocol.upkeep.lost_messages import Losses

logger = logging.getLogger(__name__)

SUSPECTING_SECONDS = 1.0


class SeenBroker:
    """While it is away or refuses nothing is sent; when it is back, what it has lost meanwhile is sent again."""

    def __init__(self, published: Callable[[int], None]) -> None:
        """`published` is told how many messages went out."""
        self._published = published
        self._outside = Outside("the broker")
        self._losses = Losses()

    @property
    def is_resting(self) -> bool:
        """Whether it is away and the next try is still to come."""
        return self._outside.is_resting

    @property
    def problem(self) -> str:
        """What is wrong with it, in a line for people; empty: nothing is."""
        return self._outside.problem

    def send(self, messages: Sequence[Message]) -> None:
        """Publish and stamp; what cannot be sent stays in the outbox."""
        if not messages:
            return
        if self.is_resting:
            outbox.note_unsent(messages)
        else:
            self._hear(outbox.send(messages, published=self._published))

    def connect(self) -> None:
        """Before there is something to send."""
        if away := outbox.connect():
            self._hear(away)

    def find_losses(self) -> None:
        """A chore. It also notices a broker that went away and came back between two messages."""
        if self.is_resting or is_eager():
            return
        try:
            found = self._losses.republish(clock.now())
        except BrokerAway as away:
            self._hear(away)
            return
        if self._outside.answers():
            self._losses.suspect()
        if found:
            logger.warning("the broker had no message for %s published runs; they are published again", found)

    def seconds_to_the_next_look(self) -> float:
        """How long the chore may wait: little while there may be something to find."""
        usual = get_settings().reconcile_seconds
        return min(usual, SUSPECTING_SECONDS) if self._outside.is_failing or self._losses.are_suspected else usual

    def _hear(self, away: BrokerAway | None) -> None:
        if isinstance(away, BrokerRefuses):
            self._outside.refuses(away)
        elif away is not None:
            self._outside.is_away(away)
        elif self._outside.is_back():
            self._losses.suspect()
