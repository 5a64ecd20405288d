"""How tests read pages: what nobody knows is an error, so that no block is passed over."""

from __future__ import annotations

import pytest

from tests.pages import Block, Reader, blocks, pages, text_of, typed


def block(language: str, text: str) -> Block:
    return Block(page="docs/x.md", section="X", language=language, text=text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ruby", "puts 1"),
        ("", "plain"),
        ("mermaid", "pie title Pets"),
        ("console", "$ rake routines\n"),
        ("console", "$ make nothing-of-the-kind\n"),
        ("console", "$ celery -A project beat -S other\n"),
        ("console", "$ .venv/bin/python -m benchmarks --only speed\n"),
        ("console", "$ .venv/bin/pytest tests/nowhere\n"),
        ("python", "assert 1 == 2"),
    ],
)
def test_a_block_that_nobody_knows_or_that_is_wrong_fails(
    language: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        Reader(monkeypatch).do(block(language, text))


def test_output_that_differs_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        Reader(monkeypatch).do(block("console", "$ python manage.py check --tag caches\nall is well\n"))


def test_a_block_with_a_path_is_that_module(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(monkeypatch)
    reader.do(block("python", "# stall/prices.py\nAPPLE = 3\n"))
    reader.do(block("python", "from stall.prices import APPLE\n"))
    assert reader.known["APPLE"] == 3


def test_what_is_printed_belongs_to_the_command_above_it() -> None:
    assert list(typed("$ a\n$ b  # why\n1\n\n2\n")) == [("a", []), ("b  # why", ["1", "2"])]


def test_every_fence_of_every_page_is_a_block() -> None:
    """One that is not closed, or closed elsewhere, would hide the blocks after it."""
    for page in pages():
        fences = sum(line.lstrip().startswith("```") for line in text_of(page).splitlines())
        assert fences == 2 * len(blocks(page)), page
