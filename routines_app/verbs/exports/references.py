"""Secrets in an export: a reference with the name of a variable stands in the place of each.

`{"$secret": "ROUTINES_SECRET_REPORT_KWARGS_PASSWORD"}` is a text, and with `"is": "json"` any other value. What is
secret is for the masks to say, as everywhere. An object that really has the key `$secret` is written with `$$secret`,
one with that with `$$$secret`, and so on.

An import takes the value from the variable, or leaves what the routine has in that place: if the routine is there, runs
the same tasks with the same other arguments in the same queue, and would be exported with the same reference in the
same place. Only variables with our prefix are read, so that a file cannot ask for whatever else a process knows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from routines_app.core.errors import InvalidValue, NotFound
from routines_app.core.said import said
from routines_app.masks import MASK, entries, masked_line
from routines_app.verbs.checking.arguments import MAX_NESTING
from routines_app.verbs.checking.rules import is_storable
from routines_app.verbs.checking.typed_json import read_json

KEY, IS, JSON = "$secret", "is", "json"
PREFIX = "ROUTINES_SECRET_"
SHOWN = ("description", "paused.reason")  # not for what is secret, but for a text that looks so to the masks
LONGEST_PLAIN = 100  # characters of a variable that are a routine's name and a place; what is longer gets a digest
LEVELS = MAX_NESTING + 5  # phases and options hold arguments a little deeper

_ESCAPED = re.compile(r"\$+secret")
_VARIABLE = re.compile(rf"{PREFIX}[A-Z0-9_]{{1,200}}")
_SIMPLE = re.compile(r"[^\W\d][\w-]*")


@dataclass
class Hider:
    """Copies values of one routine, a reference in the place of each secret."""

    owner: str
    """The routine's name."""
    forced: Mapping[str, str] = field(default_factory=dict)
    """Places that are secret whatever is there, with their variables: a file has said so."""
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The references that were written, by their places."""
    secrets: dict[str, Any] = field(default_factory=dict)
    """What they stand for."""

    def hidden(self, value: Any, place: str) -> Any:
        return self._hidden(value, place, hide=False)

    def _hidden(self, value: Any, place: str, *, hide: bool) -> Any:
        if place in self.forced or (hide and _says_something(value)):
            return self._reference(value, place)
        if isinstance(value, str):
            return self._reference(value, place) if masked_line(value) != value else str(value)
        if isinstance(value, list | tuple):
            return [self._hidden(item, f"{place}[{at}]", hide=secret) for at, item, secret in entries(value)]
        if isinstance(value, dict):
            if any(masked_line(key) != key for key in value):
                return self._reference(value, place)
            shown = {key: self._hidden(item, inside(place, key), hide=hide) for key, item, hide in entries(value)}
            return {_escaped(key): shown[key] for key in sorted(shown)}
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            return float(value)  # it was one: PostgreSQL writes large ones without an exponent
        return value

    def _reference(self, value: Any, place: str) -> dict[str, Any]:
        variable = self.forced.get(place) or plain_variable(self.owner, place)
        found = {KEY: variable} | ({} if isinstance(value, str) else {IS: JSON})
        self.found[place], self.secrets[place] = found, value
        return found


def _says_something(value: Any) -> bool:
    """That there is nothing, or a yes or no, is no secret."""
    return value is not None and not isinstance(value, bool) and value not in ("", [], {})


def inside(place: str, key: str) -> str:
    """`kwargs.password`, and quoted where that could be read otherwise: each place has a name of its own."""
    return f"{place}.{key}" if _SIMPLE.fullmatch(key) else f"{place}[{json.dumps(key, ensure_ascii=False)}]"


def _escaped(key: str) -> str:
    return f"${key}" if _ESCAPED.fullmatch(key) else str(key)


def plain_variable(owner: str, place: str) -> str:
    """Readable, and the same in every project."""
    text = f"{owner} {place}"
    readable = re.sub(r"[^A-Z0-9]+", "_", text.upper()).strip("_")
    if not text.isascii() or len(readable) > LONGEST_PLAIN:
        return distinct_variable(owner, place)
    return PREFIX + readable


def distinct_variable(owner: str, place: str) -> str:
    """The same with a digest: nothing else is called so."""
    readable = re.sub(r"[^A-Z0-9]+", "_", f"{owner} {place}".upper()).strip("_")[:LONGEST_PLAIN]
    digest = hashlib.sha256(f"{owner}\n{place}".encode()).hexdigest()[:8].upper()
    return f"{PREFIX}{readable}_{digest}".replace("__", "_")


def is_own(owner: str, place: str, variable: Any) -> bool:
    """Whether an export would call the variable of that place so."""
    return variable in (plain_variable(owner, place), distinct_variable(owner, place))


def tell_apart(hiders: list[Hider]) -> None:
    """Two places whose variables would be called the same get names of their own, both of them."""
    owners: dict[str, int] = {}
    for hider in hiders:
        for found in hider.found.values():
            owners[found[KEY]] = owners.get(found[KEY], 0) + 1
    for hider in hiders:
        for place, found in hider.found.items():
            if owners[found[KEY]] > 1:
                found[KEY] = distinct_variable(hider.owner, place)


@dataclass
class Revealer:
    """Copies values of one entry, the secret in the place of each reference."""

    owner: str
    given: Mapping[str, str]
    """The variables."""
    stored: Mapping[str, Any]
    """What the routine has, by the place of each of its secrets; empty: there is none, or it is another one now."""
    places: dict[str, str] = field(default_factory=dict)
    """Where references were, and their variables."""
    missing: list[NotFound] = field(default_factory=list)
    """What nobody has given, all of it."""

    def revealed(self, value: Any, place: str, levels: int = LEVELS) -> Any:
        if levels == 0:
            raise InvalidValue(place, "…", said("nest at most {most} levels", most=MAX_NESTING))
        if isinstance(value, dict):
            if KEY in value:
                return self._value(value, place)
            named = ((plain_key(key), item) for key, item in value.items())
            return {key: self.revealed(item, inside(place, str(key)), levels - 1) for key, item in named}
        if isinstance(value, list | tuple):
            return [self.revealed(item, f"{place}[{at}]", levels - 1) for at, item in enumerate(value)]
        return value

    def _value(self, reference: dict[Any, Any], place: str) -> Any:
        variable = reference[KEY]
        if reference != {KEY: variable} and reference != {KEY: variable, IS: JSON}:
            expected = said(
                'give {{"{key}": NAME}}, or that with "{also}": "{json}"; a key that is really called so is ${key}',
                key=KEY,
                also=IS,
                json=JSON,
            )
            raise InvalidValue(place, sorted(map(str, reference)), expected)
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            expected = said("give the name of a variable that begins with {prefix}, of A-Z, 0-9 and _", prefix=PREFIX)
            raise InvalidValue(place, f"{KEY} {str(variable)[:LONGEST_PLAIN]}", expected)
        if place in SHOWN and not is_own(self.owner, place, variable):
            raise InvalidValue(place, f"{KEY} {variable}", said("give text: it is shown to everybody who may look"))
        self.places[place] = variable
        if variable in self.given:
            return _read(self.given[variable], place, variable, is_json=IS in reference)
        if place in self.stored and is_own(self.owner, place, variable):
            return self.stored[place]
        expected = said("set {variable} in the environment: the secret is not in the file", variable=variable)
        self.missing.append(NotFound(place, f"{KEY} {variable}", expected))
        return ""


def plain_key(key: Any) -> Any:
    return key[1:] if isinstance(key, str) and _ESCAPED.fullmatch(key) else key


def _read(text: str, place: str, variable: str, *, is_json: bool) -> Any:
    """What the variable holds is in no error."""
    if not is_storable(text) or MASK in text:
        raise InvalidValue(
            place, MASK, said("{variable} holds text that no database stores, or a mask", variable=variable)
        )
    if not is_json:
        return text
    try:
        return read_json(place, text)
    except InvalidValue as error:
        # Why JSON cannot be read quotes it.
        why = said("it is no JSON") if error.expected.startswith("give JSON") else error.expected
        expected = said("{variable} is to hold JSON: {why}", variable=variable, why=why)
        raise InvalidValue(place, MASK, expected) from None


def secrets_of(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a routine has in the places that an export would hide, by place."""
    hider = Hider(owner)
    for name, value in values.items():
        hider.hidden(value, name)
    return hider.secrets
