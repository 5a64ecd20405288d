"""A language in which every word of a message stands in brackets: what stands outside them was never a message.

The gaps of a message stay outside, so that what is put into them is looked at as well; so does markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from gettext import NullTranslations
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch
from zoneinfo import available_timezones

from django.utils import translation
from django.utils.translation import trans_real

CODE = "xx"
GAPS = re.compile(r"(<[^>]*>|&\w+;|\{[^{}]*\}|%\(\w+\)[sd]|%[sd%])")
LETTER = re.compile(r"[^\W\d_]")
HIDDEN = {"script", "style", "code", "pre", "textarea"}  # the last three show what is stored or typed
VOID = {"input", "link", "meta", "br", "hr", "img", "path", "line", "rect", "circle"}
READ_OUT = ("title", "aria-label", "placeholder", "alt", "label")
# Times, lengths of time, ids, names of tasks, codes, JSON and what Python says of it, and the gaps that a script fills.
FIGURES = (
    r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+)?(?:[+-]\d\d:\d\d|Z)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\{\w+\}"
    r"|\d[\d.,]*\s?(?:ms|min|s|m|h|d|w|k)\b|\b\w+(?:\.\w+)+\b|\b[A-Z]{3,}(?:_[A-Z]+)*\b"
    r"|Expecting [^)]*\)|\{\"[^|]*\}"
)
REFUSED = re.compile(r"\w+(?=⟦: ⟧)|'[^']*'(?=⟦ is not)")  # an error of the service: which field, and what was given
NAMES = (
    "Celery",
    "celery",
    "croniter",
    "cron",
    "Django",
    "django-celery-results",
    "PostgreSQL",
    "Redis",
    "JSON",
    "SQL",
)


class Bracketed(NullTranslations):
    """What Django takes for a language's catalog."""

    def gettext(self, message: str) -> str:
        return bracketed(message.split(trans_real.CONTEXT_SEPARATOR)[-1])

    def ngettext(self, one: str, many: str, number: int) -> str:
        return self.gettext(one if number == 1 else many)

    def to_language(self) -> str:
        return CODE


def bracketed(message: str) -> str:
    return "".join(f"⟦{part}⟧" if place % 2 == 0 and part else part for place, part in enumerate(GAPS.split(message)))


@contextmanager
def spoken() -> Iterator[None]:
    """The language is everybody's, whatever a browser asks for."""
    with (
        patch.dict("django.utils.translation.trans_real._translations", {CODE: Bracketed()}),
        translation.override(CODE),
    ):
        yield


class Unsaid:
    """What a page says that is neither a message nor one of the texts that are known to be data."""

    def __init__(self, data: Iterable[str]) -> None:
        known = {*data, *NAMES, *available_timezones()} - {""}
        words = "|".join(re.escape(text) for text in sorted(known, key=len, reverse=True))
        self.data = re.compile(rf"(?<![\w.-])(?:{words})(?![\w-]|\.\w)|{FIGURES}")

    def of(self, response: Any) -> list[str]:
        """Of a page, or of an answer in JSON that a script shows."""
        if response.status_code not in (200, 422):  # a form with errors is the second; others are no pages of ours
            return []
        if not response["Content-Type"].startswith("application/json"):
            return self.of_markup(response.content.decode())
        answer = json.loads(response.content)
        texts = answer.get("errors", {}).values()
        return [*self.of_markup(answer.get("html", "")), *filter(self.is_unsaid, texts)]

    def of_markup(self, markup: str) -> list[str]:
        texts = _Texts()
        texts.feed(markup)
        return [text for text in dict.fromkeys(texts.found) if self.is_unsaid(text)]

    def is_unsaid(self, text: str) -> bool:
        return bool(LETTER.search(self.data.sub(" ", outside(REFUSED.sub("", text)))))


def outside(text: str) -> str:
    """What no bracket is around; a bar stands for what is within."""
    depth, found = 0, ""
    for letter in text:
        depth += letter == "⟦"
        found += "|" if letter == "⟦" else "" if depth else letter
        depth -= letter == "⟧" and depth > 0
    return found


class _Texts(HTMLParser):
    """All that is shown or read out: texts, and the attributes that hold some."""

    def __init__(self) -> None:
        super().__init__()
        self.path: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [given[name] or "" for name in given if name in READ_OUT or name.startswith("data-say")]
        if tag == "input" and given.get("type") in ("submit", "button", "reset"):
            self.found.append(given.get("value") or "")
        if tag not in VOID:
            self.path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self.path and self.path.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not HIDDEN & set(self.path) and data.strip():
            self.found.append(" ".join(data.split()))
