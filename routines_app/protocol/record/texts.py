"""Texts that a database can hold: without NUL, without lone surrogates, and cut visibly when they are too long."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from routines_app.core.json_text import READ_LEVELS, nests_deeper

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
NOTE_BYTES = 100  # what is said around the beginning of a result that is too large


def clean(text: str) -> str:
    """The text with what PostgreSQL and UTF-8 refuse replaced."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join(REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text


def cut(text: str, limit: int) -> str:
    """At most `limit` characters; a text that was cut says so at its end."""
    if len(text) <= limit:
        return text
    mark = f"… [cut, {len(text)} characters]"
    return text[: max(0, limit - len(mark))] + mark


def result_json(value: Any, limit: int) -> str:
    """A result as JSON that can be read again. What JSON does not know is its repr; what nests too deep to be read is
    its JSON as text; what is too large says so."""
    text = _dumped(value)
    return text if len(text) <= limit else _too_large(text, limit)


def _too_large(text: str, limit: int) -> str:
    """An object that says how much there was, with the beginning as text: cut JSON is no JSON any more."""
    begin = text[: max(0, limit - NOTE_BYTES)]
    begin = begin[: len(begin) - begin.count('"') - begin.count("\\")]  # inside of a text these take two bytes
    return json.dumps({"too_large": f"{len(text):,} bytes, kept are {len(begin):,}", "beginning": begin})


def _dumped(value: Any) -> str:
    try:
        text = json.dumps(value, cls=_Encoder, allow_nan=False)
    except (TypeError, ValueError, RecursionError, OverflowError):  # NaN, odd keys, circles
        text = json.dumps(clean(safe_text(value, repr)))
    if nests_deeper(text, READ_LEVELS):
        return json.dumps(text)
    # Escaped, NUL and lone surrogates are harmless to the ledger, but not to whoever reads the result.
    if "\\u0000" in text or "\\ud" in text:
        text = json.dumps(_cleaned(json.loads(text)))
    return text


class _Encoder(DjangoJSONEncoder):
    def default(self, o: Any) -> Any:
        try:
            return super().default(o)
        except TypeError:
            return safe_text(o, repr)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value


def safe_text(value: object, shown: Callable[[object], str] = str) -> str:
    """The value's text, or a placeholder when it cannot be shown."""
    try:
        return shown(value)
    except BaseException as error:  # noqa: BLE001 - somebody else's __str__ may raise anything
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def error_text(error: BaseException, limit: int) -> str:
    """`ValueError: what it says`, clean and not too long."""
    name, said = type(error).__name__, safe_text(error)
    return cut(clean(f"{name}: {said}" if said else name), limit)


def traceback_text(error: BaseException, begin: TracebackType | None, limit: int) -> str:
    """The traceback from `begin` on. Of one that is too long the end is kept: that is where it happened."""
    try:
        text = "".join(traceback.format_exception(type(error), error, begin))
    except BaseException as trouble:  # noqa: BLE001 - formatting calls code of the exception
        text = f"<traceback that cannot be shown: {type(trouble).__name__}>"
    text = clean(text)
    if len(text) <= limit:
        return text
    mark = f"[cut, {len(text)} characters] …\n"
    return mark + text[len(text) - max(0, limit - len(mark)) :]


def exception_names(error: BaseException) -> tuple[str, ...]:
    """Short and dotted names of the error's class and its bases, most special first."""
    classes = [cls for cls in type(error).__mro__ if cls is not object]
    return tuple(name for cls in classes for name in (cls.__name__, f"{cls.__module__}.{cls.__qualname__}"))
