"""Pages of lists with millions of rows, without counting the millions."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

COUNTED_AT_MOST = 10_000  # nobody pages further: filters and search are how one finds a row


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most 10,000 rows, so that the count costs the same whatever the table holds."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        # Ordering would make the database sort everything before the limit can cut it.
        return int(rows.order_by()[:COUNTED_AT_MOST].count())

    @property
    def is_capped(self) -> bool:
        """There may be more than the count says."""
        return self.count >= COUNTED_AT_MOST
