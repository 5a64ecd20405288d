"""What one look of a beat has done: a line in the log, where there is something to say."""

from __future__ import annotations

import logging

from routines_app.protocol.claim.claim import ClaimReport

logger = logging.getLogger(__name__)


class Done:
    """Counts until it is told."""

    def __init__(self) -> None:
        self._fired = self._skipped = self._published = 0

    def claimed(self, report: ClaimReport) -> None:
        self._fired += report.fired
        self._skipped += report.skipped

    def published(self, count: int) -> None:
        """By the sender's thread or by ours, never by both at a time."""
        self._published += count

    def tell(self) -> None:
        """Slots, but for what was published: runs, which may have been fired by an earlier look, or by hand."""
        counts = (self._fired, self._skipped, self._published)
        if any(counts):
            logger.info("fired %s, skipped %s, published %s", *counts)
            self._fired = self._skipped = self._published = 0
