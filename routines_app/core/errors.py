"""The errors that callers of the package see.

There is one base, `RoutineError`. Each error says which field is meant, what was given and what would be
right, and raising one means that nothing was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from routines_app.core.said import said, said_of, together

SHOWN_VALUE_LENGTH = 120  # enough to recognise the value, short enough for a log line


class RoutineError(ValueError):
    """Base of everything this package refuses. `field`, `value` and `expected` are there for programs.

    `expected` is made by `said`, so that pages can translate it; `said` is the whole sentence.
    """

    def __init__(self, field: str, value: object, expected: str) -> None:
        self.field = field
        self.value = value
        self.expected = expected
        self.said = said(
            "{field}: {value} is not accepted: {expected}", field=field, value=shown(value, field), expected=expected
        )
        super().__init__(str(self.said))

    def __reduce__(self) -> tuple[type[RoutineError], tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.expected)


class InvalidValue(RoutineError):
    """A field got a value that cannot be used."""


class UnknownTask(RoutineError):
    """No Celery task of that name is registered."""


class DuplicateName(RoutineError):
    """Another routine already has that name."""


class StaleVersion(RoutineError):
    """Somebody else changed the routine after it was read."""


class NotAllowed(RoutineError):
    """The verb makes no sense for what the routine or run is now."""


class Held(NotAllowed):
    """Somebody else holds what the verb needs, for longer than the caller waits."""


class NotFound(RoutineError):
    """There is no routine or run of that id or name."""


class ImportRefused(RoutineError):
    """A file cannot be imported. `problems` are all that is wrong with it, an error for each."""

    def __init__(self, problems: Sequence[RoutineError]) -> None:
        self.problems = tuple(problems)
        count = said_of(len(problems), "{count} problem", "{count} problems")
        super().__init__("file", count, together("\n", [problem.said for problem in problems]))
        self.said = said("nothing is imported, {count}:\n{problems}", count=count, problems=self.expected)

    def __str__(self) -> str:
        return str(self.said)

    def __reduce__(self) -> tuple[type[RoutineError], tuple[object, ...]]:  # type: ignore[override]
        return type(self), (self.problems,)


def in_words(error: Exception) -> str:
    """What an error says, as a part of another sentence: one of ours can be translated there too."""
    return error.said if isinstance(error, RoutineError) else str(error)


def _plainly(field: str, value: object) -> str:  # noqa: ARG001
    return repr(value)


_show: Callable[[str, object], str] = _plainly


def show_with(show: Callable[[str, object], str]) -> None:
    """From now on this renders the value that a field was given.

    What is secret is a setting, and the core knows none: the masks are handed down when the app is ready.
    """
    global _show
    _show = show


def shown(value: object, field: str = "") -> str:
    """A short, safe rendering of any value, for error texts."""
    try:
        text = _show(field, value)
    except Exception:  # noqa: BLE001 - a value whose repr fails must not hide the error about it
        text = f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= SHOWN_VALUE_LENGTH else text[: SHOWN_VALUE_LENGTH - 1] + "…"
