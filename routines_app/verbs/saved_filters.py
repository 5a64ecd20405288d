"""Saved filters: what a list was asked for, kept under a name."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from routines_app.core.errors import DuplicateName, InvalidValue, NotAllowed
from routines_app.core.said import said
from routines_app.models import EVERYBODY, SavedFilter
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.names import Label
from routines_app.verbs.checking.sizes import LONGEST_ADDRESS
from routines_app.verbs.editing import ACTOR

MOST = 20  # of one person, and of everybody: they stand above the list as links
NAME = Label(longest=60, required=True)


def saved_filters(listed: str, owner: str) -> list[SavedFilter]:
    """Those of everybody, then the person's own, by name."""
    rows = SavedFilter.objects.using(ledger_alias()).filter(listed=listed, owner__in=[EVERYBODY, owner])
    return list(rows.order_by("owner", "name")[: 2 * MOST])


def save_filter(listed: str, name: str, query: str, *, owner: str, actor: str = "") -> SavedFilter:
    """Keep what a list was asked for. `owner` is a person's id, or `EVERYBODY`; the caller knows who may."""
    name = NAME("name", name)
    if not query or len(query) > LONGEST_ADDRESS:
        raise InvalidValue(
            "query", query, said("choose a filter first, of at most {most:,} characters", most=LONGEST_ADDRESS)
        )
    rows = SavedFilter.objects.using(ledger_alias()).filter(listed=listed, owner=owner)
    if rows.count() >= MOST:
        raise NotAllowed("name", name, said("there are {most} saved filters already: remove one first", most=MOST))
    made = SavedFilter(listed=listed, owner=owner, name=name, query=query, made_by=ACTOR("actor", actor))
    try:
        with transaction.atomic(using=ledger_alias()):
            made.save(using=ledger_alias())
    except IntegrityError:
        raise DuplicateName("name", name, said("give a name that no other saved filter has")) from None
    return made


def remove_filter(listed: str, filter_id: int, *, owners: Sequence[str]) -> SavedFilter | None:
    """Forget one of these owners' filters; None when it is not there (any more)."""
    found = SavedFilter.objects.using(ledger_alias()).filter(pk=filter_id, listed=listed, owner__in=owners).first()
    if found is not None:
        SavedFilter.objects.using(ledger_alias()).filter(pk=found.pk).delete()
    return found
