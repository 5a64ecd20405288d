"""The text of an export, as YAML or JSON: the same data, and the same bytes for it every time."""

from __future__ import annotations

import json
from typing import Any

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.verbs.checking.rules import Word
from routines_app.verbs.exports import strict_json, yaml_text
from routines_app.verbs.exports.import_words import FileFormat

LONGEST = 32_000_000  # characters: some fifty thousand routines

_FORMAT = Word(FileFormat)


def render_export(data: dict[str, Any], format: str = FileFormat.YAML) -> str:  # noqa: A002 - what it is called
    """The data of `export_routines` as the text of a file, with a line break at its end."""
    if _FORMAT("format", format) == FileFormat.YAML:
        return yaml_text.render(data)
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_export(text: str, format: str | None = None) -> Any:  # noqa: A002
    """The data in the text of a file. Without a format, what begins with a brace is JSON.

    A key that is there twice is refused, and so is what a file of ours never has: tags, aliases, several documents.
    """
    if len(text) > LONGEST:
        raise InvalidValue(
            "file", f"{len(text):,} characters", said("give at most {most:,}: export fewer at a time", most=LONGEST)
        )
    chosen = None if format is None else _FORMAT("format", format)
    if chosen is None:
        chosen = FileFormat.JSON if text.lstrip("\ufeff \t\r\n").startswith("{") else FileFormat.YAML
    text = text.removeprefix("\ufeff")
    return yaml_text.read(text) if chosen == FileFormat.YAML else strict_json.read(text)
