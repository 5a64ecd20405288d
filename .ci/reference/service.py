"""docs/service.md: every verb and value of `routines_app.service`, in its groups."""

from __future__ import annotations

import inspect
from enum import Enum
from types import UnionType
from typing import Any

from reference import reading
from routines_app import service

HEAD = """\
# The service: every verb

`from routines_app import service` is the whole public Python interface; the admin, the views and the command line call
nothing else. This page is written by `make reference` from the code itself.

{introduction}

"""


def page() -> str:
    introduction = (service.__doc__ or "").split("\n\n")[1]
    groups = reading.groups_of_all(service).items()
    parts = [_group(comment, names) for comment, names in groups]
    return HEAD.format(introduction=introduction.strip()) + "\n".join(parts)


def _group(comment: str, names: list[str]) -> str:
    title, _, rest = comment.rstrip(".").partition(":")
    said = f"{rest.strip()[0].upper()}{rest.strip()[1:]}.\n\n" if rest else ""
    return f"## {title}\n\n{said}" + "".join(_entry(name, getattr(service, name)) for name in names)


def _entry(name: str, value: Any) -> str:
    if isinstance(value, type) and issubclass(value, BaseException):
        return f"- `{name}`: {reading.first_paragraph(value.__doc__)}\n"
    if isinstance(value, type) and issubclass(value, Enum):
        listed = ", ".join(f"`{member.value}`" for member in value)
        return f"- `{name}`: {reading.first_paragraph(value.__doc__)} {listed}.\n"
    if inspect.isfunction(value) or isinstance(value, type):
        return f"- `{name}{_signature(value)}`: {reading.first_paragraph(value.__doc__)}\n"
    return f"- `{name}`: {_constant(value)}.\n"


def _constant(value: Any) -> str:
    if isinstance(value, UnionType):
        return " or ".join(f"`{each.__name__}`" for each in value.__args__)
    if isinstance(value, frozenset):
        return f"a set of {len(value)} names"
    return f"{value:,.10g}" if isinstance(value, int | float) else ", ".join(f"`{each}`" for each in value)


class _Bare(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _signature(of: Any) -> str:
    """As it is written in the source: annotations without quotes, words by their values."""
    signature = inspect.signature(of)
    parameters = [
        each.replace(annotation=_bare(each.annotation), default=_shown(each.default))
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    returns = inspect.Signature.empty if isinstance(of, type) else _bare(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returns))


def _bare(annotation: Any) -> Any:
    text = getattr(annotation, "__forward_arg__", annotation)  # what a named tuple makes of one
    return _Bare(text) if isinstance(text, str) else annotation


def _shown(default: Any) -> Any:
    if isinstance(default, Enum):
        return _Bare(repr(default.value))
    is_plain = default is inspect.Parameter.empty or default is None or isinstance(default, str | int | float | tuple)
    return default if is_plain else _Bare("…")
