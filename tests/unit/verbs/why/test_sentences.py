"""The tables of sentences: each can be filled, and nothing is said that a catalog cannot have."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

from routines_app.core.said import Said
from routines_app.verbs import why
from routines_app.verbs.health.notices import notice
from routines_app.verbs.why import changed, ends, no_slot, planned, waits_said

MODULES = [*sorted(Path(why.__path__[0]).glob("*.py")), Path(notice.__file__)]
WORDS = re.compile(r"[a-z],? [a-z]")
ATTEMPTS = {name: value for name, value in vars(ends).items() if isinstance(value, ends.Attempt)}
OF_AN_ATTEMPT = {"attempt", "at", "worker", "length", "why"}
OF_A_WAIT = {"since", "until", "length", "pool", "other"}
TABLES = [
    (changed.DONE, {"at", "fields"}),
    (changed.DONE_BY, {"at", "actor", "fields"}),
    (no_slot.WILL_NOT_FIRE, set()),
    (no_slot.NO_SLOT_EITHER, {"at"}),
    (no_slot.DID_NOT_FIRE, {"slot"}),
    (planned.PLANNED_BY, {"slot"}),
    (waits_said.WAITED, OF_A_WAIT),
    (waits_said.WAITS, OF_A_WAIT - {"until", "length"}),
    (notice.COMPARED, {"runs_wait", "difference", "length"}),
]


def gaps(sentence: Said) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence.template) if name}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_sentence_forgets_what_it_was_made_of(path: Path) -> None:
    """An f-string does; `make messages` finds neither a template that is computed nor words that nobody has said."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    said = [text for node in nodes if isinstance(node, ast.Call) for text in templates_in(node)]
    assert [node.lineno for node in said if not isinstance(node, ast.Constant)] == []
    assert [node.lineno for node in nodes if isinstance(node, ast.JoinedStr)] == []
    told = {id(node) for node in said} | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [node.value for node in texts if WORDS.search(node.value) and id(node) not in told] == []


def templates_in(call: ast.Call) -> list[ast.expr]:
    match call.func:
        case ast.Name(id="said"):
            return call.args
        case ast.Name(id="said_of"):
            return call.args[1:3]
    return []


@pytest.mark.parametrize(("table", "known"), TABLES)
def test_a_sentence_of_a_table_has_no_gap_that_nobody_fills(table: dict[object, Said], known: set[str]) -> None:
    assert set().union(*map(gaps, table.values())) == known


def test_a_wait_that_lasts_has_a_sentence_where_one_that_is_over_has() -> None:
    assert waits_said.WAITS.keys() == waits_said.WAITED.keys()
    assert changed.DONE.keys() == changed.DONE_BY.keys()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_later_attempt_is_told_as_the_first_one_with_its_number(name: str) -> None:
    first, later = ATTEMPTS[name]
    assert gaps(later) - gaps(first) == {"attempt"}
    assert gaps(later) <= OF_AN_ATTEMPT
    assert later.template == first.template.replace("It ", "Attempt {attempt} ", 1)
