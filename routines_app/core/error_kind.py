"""Errors that differ only in numbers, ids and quoted values are of one kind: `Timeout after 31 s` and `after 7 s`."""

from __future__ import annotations

import re

LONGEST = 200  # characters of a line that are looked at, and of a kind: it fits into an address

_FOLDED = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<id>"),
    # Within quotes; an apostrophe inside of a word opens none.
    (re.compile(r"(?<!\w)'[^'\n]*'(?!\w)"), "'…'"),
    (re.compile(r'"[^"\n]*"'), '"…"'),
    # Hexadecimal, with a digit and a letter at least: a number is none, and neither is a word.
    (re.compile(r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<id>"),
    # Not behind a letter: Http404 and utf8 are names.
    (re.compile(r"(?<![A-Za-z_0-9])[0-9]+(?:[.,:][0-9]+)*"), "#"),
)


def first_line(error: str) -> str:
    """The first line of an error that says something."""
    return next((line.strip() for line in error.splitlines() if line.strip()), "")


def error_kind(error: str) -> str:
    """What an error has in common with those of its kind; empty: it says nothing."""
    kind = first_line(error)[:LONGEST]
    if not kind.isprintable():
        kind = "".join(letter if letter.isprintable() else " " for letter in kind)
    for pattern, instead in _FOLDED:
        kind = pattern.sub(instead, kind)
    return " ".join(kind.split())[:LONGEST].rstrip()
