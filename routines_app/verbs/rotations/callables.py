"""The callables that say what should be members, by their dotted path."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from celery.exceptions import Ignore, SoftTimeLimitExceeded
from django.utils.module_loading import import_string

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.models import Rotation
from routines_app.verbs.checking.rules import Text

logger = logging.getLogger(__name__)

LONGEST = 255
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def known_seed(field: str, value: Any) -> str:
    """The path of a callable that this process can import; empty: nothing seeds."""
    path = _path(field, value)
    if path:
        load(path, field)
    return path


def any_seed(field: str, value: Any) -> str:
    """A path that only workers may be able to import: that is said, and taken as it is."""
    path = _path(field, value)
    try:
        if path:
            load(path, field)
    except InvalidValue as error:
        logger.warning("seed %s is taken as it is: %s", path, error.expected)
    return path


def doubt_about_seed(path: str) -> str:
    """Why this process cannot load the callable; empty: it can. Its module is imported."""
    try:
        load(path)
    except InvalidValue as error:
        return error.expected
    return ""


def load(path: str, field: str = "seed") -> Callable[..., Iterable[Any]]:
    """The callable. Whatever its module raises when it is imported is said in the error."""
    try:
        found = import_string(path)
    except (SoftTimeLimitExceeded, Ignore):  # the run that seeds is asked to stop
        raise
    except Exception as error:
        raise InvalidValue(
            field, path, said("it cannot be imported: {kind}: {error}", kind=type(error).__name__, error=str(error))
        ) from error
    if not callable(found):
        raise InvalidValue(field, path, said("give the dotted path of a callable, such as shop.feeds.members"))
    return found  # type: ignore[no-any-return]


def call(found: Callable[..., Iterable[Any]], rotation: Rotation) -> Iterable[Any]:
    """With the rotation, if it asks for an argument; else with nothing."""
    return found(rotation) if _asks(found) else found()


def _asks(found: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # written in C, and silent about it
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in positional and each.default is inspect.Parameter.empty for each in parameters)


def _path(field: str, value: Any) -> str:
    path = Text(longest=LONGEST)(field, "" if value is None else value)
    if path and not _PATH.fullmatch(path):
        raise InvalidValue(field, value, said("give the dotted path of a callable, such as shop.feeds.members"))
    return path
