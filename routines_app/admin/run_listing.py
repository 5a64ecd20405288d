"""One page of a list of runs, found by where the last one ended: no count, no offset, and new runs move nothing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.run_question import Question

ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The ids of the page, newest first, and the ways on from it."""

    ids: tuple[uuid.UUID, ...] = ()
    older: str = ""
    """The address of the next page back in time; empty: there is none."""
    newer: str = ""
    newest: str = ""
    looked_back_to: datetime | None = None
    """How far rows were looked through, where there may be more beyond."""
    note: str = ""


def listing(asked: Question) -> Listing:
    if asked.meant is None:
        return Listing()
    if asked.run_id is not None:
        return Listing(ids=(asked.run_id,))
    if asked.before is not None:
        return _back_from(asked, asked.meant, asked.before)
    if asked.after is not None:
        return _on_from(asked, asked.meant, asked.after)
    if asked.slot is not None:
        return _at_slot(asked, asked.meant, asked.slot)
    return _back_from(asked, asked.meant, None)


def _at_slot(asked: Question, meant: service.RunSelection, slot: datetime) -> Listing:
    """From the first run that was made at that time on: no run is made before its slot."""
    just_before = uuid.UUID(int=service.oldest_run_id(slot).int - 1)
    found = _on_from(asked, meant, just_before)
    if found.ids or found.newer:
        return found
    newest = _back_from(asked, meant, None)
    return Listing(
        ids=newest.ids,
        older=newest.older,
        looked_back_to=newest.looked_back_to,
        note=_("No such run was made since then. These are the newest."),
    )


def _back_from(asked: Question, meant: service.RunSelection, before: uuid.UUID | None) -> Listing:
    page = meant.page(limit=ROWS + 1, before=before)
    ids = page.ids[:ROWS]
    further = ids[-1] if len(page.ids) > ROWS else page.end
    ways: dict[str, Any] = {"older": _address(asked, before=further) if further else ""}
    if before is not None:
        ways |= {"newest": _address(asked), "newer": _address(asked, after=ids[0] if ids else _previous(before))}
    unseen = page.end if len(page.ids) <= ROWS else None
    return Listing(ids=ids, looked_back_to=service.run_created_at(unseen) if unseen else None, **ways)


def _on_from(asked: Question, meant: service.RunSelection, after: uuid.UUID) -> Listing:
    page = meant.page(limit=ROWS + 1, after=after)
    ids = page.ids[:ROWS][::-1]
    further = ids[0] if len(page.ids) > ROWS else page.end
    return Listing(
        ids=ids,
        older=_address(asked, before=ids[-1] if ids else _next(after)),
        newer=_address(asked, after=further) if further else "",
        newest=_address(asked),
    )


def _address(asked: Question, **cursor: uuid.UUID) -> str:
    return asked.address(slot=None, **cursor)


def _previous(run_id: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=max(0, run_id.int - 1))


def _next(run_id: uuid.UUID) -> uuid.UUID:
    return uuid.UUID(int=min((1 << 128) - 1, run_id.int + 1))
