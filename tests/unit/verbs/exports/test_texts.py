"""Exports as text: the same value whichever way it is written, and nothing that only one reader understands."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines_app.core.errors import InvalidValue, NotAllowed, RoutineError
from routines_app.verbs.exports import texts
from routines_app.verbs.exports.texts import read_export, render_export
from tests.integration.verbs.exports.generated import KEYS, VALUES

yaml = pytest.importorskip("yaml")


@given(value=st.dictionaries(KEYS, VALUES, max_size=5))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_yaml_and_json_say_the_same(value: dict[str, Any]) -> None:
    as_yaml, as_json = render_export(value, "yaml"), render_export(value, "json")
    assert read_export(as_yaml, "yaml") == read_export(as_json, "json") == value
    assert repr(read_export(as_yaml, "yaml")) == repr(value)  # 1 is not 1.0, and the order is kept
    assert as_yaml.endswith("\n")
    assert as_json.endswith("\n")


@given(value=st.dictionaries(KEYS, VALUES, max_size=5))
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_another_reader_of_yaml_reads_the_same(value: dict[str, Any]) -> None:
    assert yaml.safe_load(render_export(value, "yaml")) == value


@given(value=st.dictionaries(KEYS, VALUES, max_size=5))
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_it_needs_no_libyaml(value: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeDumper")
        patch.delattr(yaml, "CSafeLoader")
        assert repr(read_export(render_export(value, "yaml"), "yaml")) == repr(value)


def test_the_bytes_are_the_same_with_and_without_libyaml() -> None:
    assert render_export({"description": "😀 a: b", "kwargs": {"": 1}}) == (
        "description: '😀 a: b'\nkwargs:\n  ? ''\n  : 1\n"
    )


def test_lines_are_written_as_lines() -> None:
    """Or a change of one would be a change of all."""
    assert render_export({"a": "one\ntwo", "b": "x" * 300}) == f"a: |-\n  one\n  two\nb: {'x' * 300}\n"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("twice", '{"a": 1, "a": 2}'),
        ("line 2", "a: 1\na: 2\n"),
        ("aliases", "a: &x [1]\nb: *x\n"),
        ("tags", "a: !!python/object:os.system x\n"),
        ("tags", "a: !!set {b}\n"),
        ("text as a key", "1: a\n"),
        ("text as a key", "[a]: b\n"),
        ("one document", "a: 1\n---\nb: 2\n"),
        ("give YAML", "a: [1\n"),
        ("give YAML", "a: \x00\n"),
        ("give JSON", '{"a": }'),
        ("finite", '{"a": NaN}'),
        ("64 bits", '{"a": ' + "9" * 30 + "}"),
        ("64 bits", "a: " + "9" * 30),
        ("levels", '{"a": ' + "[" * 40 + "]" * 40 + "}"),
        ("levels", "a: " + "[" * 40 + "]" * 40),
        ("levels", "a: " + "[" * 4000 + "]" * 4000),
    ],
)
def test_what_is_not_read_is_said(said: str, text: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        read_export(text)


@pytest.mark.parametrize(
    ("text", "value"), [("on", "on"), ("no", "no"), ("12:30", "12:30"), ("2026-01-01", "2026-01-01")]
)
def test_words_of_older_yaml_are_text(text: str, value: Any) -> None:
    assert read_export(f"a: {text}\n") == {"a": value}


def test_a_huge_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "LONGEST", 10)
    with pytest.raises(InvalidValue, match="at most 10"):
        read_export("{" + " " * 10 + "}")


def test_a_byte_order_mark_is_no_matter() -> None:
    assert read_export('\ufeff{"a": 1}') == read_export("\ufeffa: 1\n") == {"a": 1}


def test_yaml_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for act in (lambda: render_export({}, "yaml"), lambda: read_export("a: 1")):
        with pytest.raises(NotAllowed, match=r"pip install \"django-celery-routines\[yaml\]\""):
            act()
    assert read_export(render_export({"a": 1}, "json")) == {"a": 1}


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(RoutineError, match="yaml, json"):
        render_export({}, "toml")
