"""The language in which tests look for words that are no message."""

from __future__ import annotations

import pytest
from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext, ngettext, pgettext

from tests.integration.admin.every_page.pseudo_language import Unsaid, spoken


def test_words_are_bracketed_and_gaps_are_not() -> None:
    with spoken():
        assert gettext("Paused {name} until {time}.") == "⟦Paused ⟧{name}⟦ until ⟧{time}⟦.⟧"
        assert pgettext("slots", "All") == "⟦All⟧"
        assert ngettext("%(n)s run", "%(n)s runs", 2) == "%(n)s⟦ runs⟧"
        assert gettext('Of <a href="%(address)s">it</a>') == '⟦Of ⟧<a href="%(address)s">⟦it⟧</a>'
    assert gettext("Paused") == "Paused"


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<p>⟦Paused ⟧nightly⟦ since ⟧5 min</p>", []),
        ("<p>⟦Paused ⟧yesterday</p>", ["⟦Paused ⟧yesterday"]),
        ("<p>⟦⟦Mon⟧ 5 ⟦Oct⟧⟧, 02:30:00 CEST</p>", []),
        ("<p>⟦cut …</p>", []),
        ('<input type="submit" value="Go">', ["Go"]),
        ('<input type="text" value="typed">', []),
        ('<a title="Why" aria-label="⟦Why⟧"><br>⟦Why⟧</a>', ["Why"]),
        ('<p data-say-old="{seconds} s old"></p>', ["{seconds} s old"]),
        ("<code>code</code><pre>text</pre><script>var a</script>", []),
        ("<p>pool⟦: ⟧'typed'⟦ is not accepted: ⟧⟦no pool has that name⟧</p>", []),
        ("<p>nightly-report</p>", ["nightly-report"]),
    ],
)
def test_what_is_outside_of_brackets_is_found(markup: str, found: list[str]) -> None:
    assert Unsaid({"nightly"}).of(HttpResponse(markup)) == found


def test_answers_for_scripts_are_read_too() -> None:
    answer = JsonResponse({"html": "<p>Next</p>", "errors": {"cron": "wrong", "every": "⟦wrong⟧"}})
    assert Unsaid(()).of(answer) == ["Next", "wrong"]
    assert Unsaid(()).of(HttpResponse("Next", status=302)) == []
