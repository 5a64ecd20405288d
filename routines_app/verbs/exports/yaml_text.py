"""Exports as YAML, by PyYAML, which is an extra: `pip install "django-celery-routines[yaml]"`.

It is read from the parser's events, so that nothing is built that JSON could not say: no tags, no aliases (a few of
which can stand for gigabytes), no timestamps, and `on`, `no` and `12:30` are text. What the writer leaves without
quotes is text by these rules too.
"""

from __future__ import annotations

import re
from typing import Any

from routines_app.core.errors import InvalidValue, NotAllowed
from routines_app.core.said import Said, said
from routines_app.verbs.exports.strict_json import LEVELS, too_deep, twice, whole

WIDTH = 2**30  # no line is broken: a changed word is one changed line

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")


def render(data: Any) -> str:
    yaml = _yaml()
    text = yaml.dump(
        data, Dumper=_dumper(yaml), sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False
    )
    return str(text)


def read(text: str) -> Any:
    yaml = _yaml()
    builder = _Builder(yaml)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "…" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or said("it cannot be read")
        raise InvalidValue("file", where, said("give YAML ({why})", why=why)) from None
    return builder.document


def _yaml() -> Any:
    try:
        import yaml  # an extra: whoever uses JSON does without
    except ImportError:
        expected = said('YAML needs PyYAML: pip install "django-celery-routines[yaml]", or use JSON')
        raise NotAllowed("format", "yaml", expected) from None
    return yaml


def _dumper(yaml: Any) -> Any:
    class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # libyaml's escapes more: other bytes
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the same value twice is written twice
            return True

    Dumper.add_representer(str, _represent_text)
    return Dumper


def _represent_text(dumper: Any, text: str) -> Any:
    """Lines as lines, where every reader agrees about them; else in quotes, with escapes."""
    lines = text.split("\n")
    is_plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    style = None if is_plain else '"'
    if is_plain and len(lines) > 1:
        style = "|" if lines[0] and not lines[0].startswith(" ") and text[-1] != "\n" else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


class _Builder:
    """Builds one value from events, without recursion."""

    def __init__(self, yaml: Any) -> None:
        self.document: Any = None
        self._yaml, self._documents = yaml, 0
        self._open: list[Any] = []
        self._keys: list[str | None] = []
        """Of each mapping that is open, the key whose value comes next."""

    def take(self, event: Any) -> None:
        yaml = self._yaml
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event)
            self._add(_scalar(event), event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._refuse_tag(event)
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._keys.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise InvalidValue(
                "file", f"*{event.anchor}", said("{line}: write it out: aliases are not read", line=_line(event))
            )
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise InvalidValue("file", "---", said("{line}: give one document", line=_line(event)))

    def _begin(self, value: Any, event: Any) -> None:
        if len(self._open) >= LEVELS:
            raise too_deep()
        self._add(value, event)
        self._open.append(value)
        self._keys.append(None)

    def _add(self, value: Any, event: Any) -> None:
        if not self._open:
            self.document = value
            return
        inside, key = self._open[-1], self._keys[-1]
        if isinstance(inside, list):
            inside.append(value)
        elif key is None:
            self._keys[-1] = self._key(value, inside, event)
        else:
            inside[key] = value
            self._keys[-1] = None

    def _key(self, value: Any, inside: dict[str, Any], event: Any) -> str:
        if not isinstance(value, str):
            raise InvalidValue(
                "file",
                value,
                said("{line}: give text as a key, in quotes if it looks like a number", line=_line(event)),
            )
        if value in inside:
            raise twice(value, _line(event))
        return value

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None and event.tag != "!":
            raise InvalidValue(
                "file", event.tag, said("{line}: tags are not read: write the value itself", line=_line(event))
            )


def _scalar(event: Any) -> Any:
    """Text in quotes is text; else what JSON calls null, true, false and numbers is that."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _NULL:
        return None
    if text in _FLAGS:
        return _FLAGS[text]
    if _WHOLE.fullmatch(text):
        return whole(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _line(event: Any) -> Said:
    return said("line {number}", number=event.start_mark.line + 1)
