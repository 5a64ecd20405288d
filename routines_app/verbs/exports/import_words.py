"""Words of exports and imports."""

from __future__ import annotations

from enum import StrEnum


class FileFormat(StrEnum):
    """What a file of routines is written in."""

    YAML = "yaml"
    JSON = "json"


class ImportAction(StrEnum):
    """What an import does with an entry."""

    CREATE = "create"
    CHANGE = "change"
    ARCHIVE = "archive"
    UNCHANGED = "unchanged"
