"""`manage.py routines index-search`."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from routines_app import service


def index_search() -> str:
    out = StringIO()
    call_command("routines", "index-search", stdout=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_it_says_why_there_is_none() -> None:
    """An embedded PostgreSQL has no pg_trgm, and other databases have no trigrams at all."""
    with pytest.raises(CommandError, match=r"pg_trgm|only PostgreSQL"):
        index_search()


@pytest.mark.parametrize(("made", "text"), [(True, "the index is made\n"), (False, "the index is there already\n")])
def test_it_says_whether_there_was_one(made: bool, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "index_search", lambda: made)

    assert index_search() == text
