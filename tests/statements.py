"""Finds the tests of `statements.txt`: `ROUTINES_TEST_DATABASE=sqlite pytest -q -p tests.statements tests/integration`.

A plugin that notes the shape of every statement that each test asks of our tables, and at the end writes down a few
cheap tests which together ask all that no test of the rule in `each_database.py` asks. Not for several processes (-n).
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from typing import Any

import pytest
from django.db.backends.utils import CursorWrapper

from tests import each_database

SHAPELESS = [  # how many values and plain columns, and which, is no other statement
    (re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b|%s"), "?"),
    (re.compile(r"\(\?(?:, ?\?)*\)"), "(?)"),
    (re.compile(r"\(\?\)(?:, ?\(\?\))+"), "(?)"),
    (re.compile(r"UNION ALL SELECT \?.*"), "UNION ALL"),
    (re.compile(r"(?:WHEN \S+ = \? THEN \S+ ?)+"), "WHEN "),
    (re.compile(r'SELECT (?:"\w+"\."\w+"(?: AS "\w+")?(?:, )?)+ FROM'), "SELECT columns FROM"),
    (re.compile(r'(INSERT INTO "\w+") \((?:"\w+"(?:, )?)+\)'), r"\1 (columns)"),
    (re.compile(r'SET (?:"\w+" = (?:\?|NULL)(?:, )?)+(?= WHERE|$)'), "SET columns"),
]
OF_OURS = re.compile(r"routines_")
OF_THE_SCHEMA = re.compile(r"CREATE|DROP|ALTER|PRAGMA")
FIXED_COST = 0.05  # seconds: of two tests that ask as much, many short ones are not better than one

Asked = dict[str, set[str]]


class Statements:
    """What each test has asked, and for how long."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.asked: Asked = {}
        self.seconds: dict[str, float] = {}
        self.by_rule: set[str] = set()

    def note(self, sql: Any) -> None:
        if isinstance(sql, str) and OF_OURS.search(sql) and not OF_THE_SCHEMA.match(sql):
            self.now.add(shape_of(sql))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        self.now.clear()
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            self.asked[item.nodeid] = set(self.now)
            if item.get_closest_marker("each_database"):
                self.by_rule.add(item.nodeid)

    def pytest_sessionfinish(self) -> None:
        chosen = cover(self.asked, self.by_rule, self.seconds)
        each_database.LIST.write_text("".join(f"{test}\n" for test in sorted(chosen)), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    statements = Statements()
    config.pluginmanager.register(statements)
    each_database.LIST.write_text("", encoding="utf-8")  # of what it names nothing counts as asked by the rule
    cursors: Any = CursorWrapper  # those of every thread and connection
    plain = cursors._execute_with_wrappers

    def noted(self: Any, sql: Any, params: Any, many: bool, executor: Any) -> Any:
        statements.note(sql)
        return plain(self, sql, params, many, executor)

    cursors._execute_with_wrappers = noted


def shape_of(sql: str) -> str:
    for pattern, instead in SHAPELESS:
        sql = pattern.sub(instead, sql)
    return sql


def cover(asked: Asked, by_rule: set[str], seconds: dict[str, float]) -> list[str]:
    """Tests that together ask all that those of the rule do not: always the one that asks most of it for its time."""
    left = set().union(*asked.values()) - set().union(*(asked[test] for test in by_rule))
    chosen = []
    while left:
        best = max(asked, key=lambda test: len(asked[test] & left) / (FIXED_COST + seconds[test]))
        chosen.append(best)
        left -= asked[best]
    return chosen
