"""Every notice, of one thing and of many, is said in words that a catalog can have."""

from __future__ import annotations

from itertools import product

import pytest

from routines_app.service import Notice, NoticeKind, NoticeLevel
from tests.sayings import unsayable

COUNTS = (0, 1, 2, 1_000, 10_000)
COMPARED = (None, 0, 1, 20_000)


@pytest.mark.parametrize("kind", NoticeKind)
def test_every_notice_can_be_said_in_another_language(kind: NoticeKind) -> None:
    clocks = (("beat@a:1", 3.24), ("beat@b:1", -2.0))
    for level, count, of, more, earlier in product(NoticeLevel, COUNTS, (1, 2), (0, 2), COMPARED):
        facts = {"count": count, "of": of, "more": more, "earlier": earlier, "clocks": clocks}
        notice = Notice(kind=kind, level=level, about="a, b, c", **facts)
        assert unsayable(notice.sentence) == []


def test_names_that_are_left_out_are_counted() -> None:
    notice = Notice(kind=NoticeKind.GONE, level=NoticeLevel.WARNING, count=5, about="a, b, c", more=2)
    assert notice.sentence == "5 beats and workers are gone, three reports of each have not come: a, b, c and 2 more."


def test_clocks_are_told_each_by_itself() -> None:
    notice = Notice(
        kind=NoticeKind.CLOCK, level=NoticeLevel.WARNING, count=2, clocks=(("a", 1234.56), ("b", -2.0)), more=1
    )
    assert notice.sentence == "Clocks differ from the database's: a is 1,234.6 s ahead, b is 2.0 s behind and 1 more."
