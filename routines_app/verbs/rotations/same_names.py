"""Names that a database takes for one: by their usual collations MariaDB and MySQL ignore case, and accents."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from django.db import connections

from routines_app.core.errors import DuplicateName
from routines_app.core.said import said
from routines_app.models import Routine
from routines_app.protocol.ledger.database import ledger_alias


class Named(Protocol):
    """One of many that are to be created."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...


def refuse_alike(new: Sequence[Named], there: Collection[str]) -> None:
    """Refuse, before anything is written, names that could not stand beside each other, or beside those found."""
    for error in alike_names(new, there):
        raise error


def alike_names(new: Sequence[Named], there: Collection[str]) -> Iterator[DuplicateName]:
    """What is wrong with each of them.

    The database is asked only about names that are alike, which are few if any.
    """
    alike = list(_alike(new, there))
    collation = _collation() if alike else ""
    for wanted, other in alike:
        if _are_one(wanted.name, other, collation):
            expected = said("this database takes it for {other}: give that one, or another name", other=other)
            yield DuplicateName(f"{wanted.place}.name", wanted.name, expected)


def _alike(new: Sequence[Named], there: Collection[str]) -> Iterable[tuple[Named, str]]:
    seen = {_folded(name): name for name in there}
    for each in new:
        other = seen.setdefault(_folded(each.name), each.name)
        if other != each.name:
            yield each, other


def _folded(name: str) -> str:
    """Without case, and without accents, which such a collation ignores too."""
    if name.isascii():
        return name.casefold()
    return "".join(char for char in unicodedata.normalize("NFD", name.casefold()) if not unicodedata.combining(char))


def _are_one(name: str, other: str, collation: str) -> bool:
    """A collation says by its name what it ignores: `_ci` case, and accents too unless it is `_as_ci`."""
    return collation.endswith("_ci") and (name.casefold() == other.casefold() or not collation.endswith("_as_ci"))


def _collation() -> str:
    """Of names; empty: they are compared as they are."""
    connection = connections[ledger_alias()]
    if connection.vendor != "mysql":
        return ""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT collation_name FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = %s AND column_name = %s",
            [Routine._meta.db_table, "name"],
        )
        row = cursor.fetchone()
    return "" if row is None else str(row[0])
