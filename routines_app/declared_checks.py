"""System checks of what the project's code declares: what would be no routine, with its place and what would be right.

They import the project's task modules and its `routines` modules, and ask no database. All are warnings: an error would
stop every command, `migrate` and `routines sync` among them, for the sake of one routine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Tags, register

from routines_app import service

MEND = "Mend it there; until then its routine, if there is one, stays as it is."
UNREADABLE = "Nothing that code declares can be brought into the ledger from here, and nothing is archived."


@register(Tags.compatibility)
def check_declarations(**_: Any) -> list[CheckMessage]:
    """Not an error where modules cannot be imported: a web process may lack what only workers need."""
    try:
        found = service.read_declarations()
    except Exception as error:  # noqa: BLE001 - whatever a module of the project raises
        told = f"What code declares cannot be read: {type(error).__name__}: {error}."
        return [checks.Warning(told, hint=UNREADABLE, id="routines.W018")]
    return list(_messages(found))


def _messages(found: service.Found) -> Iterator[CheckMessage]:
    for name, why in found.refused.items():
        places = found.places[name]
        number = "W021" if len(places) > 1 else "W020"
        told = f"The routine {name!r}, declared in {' and in '.join(places)}, is refused: {why}."
        yield checks.Warning(told, hint=MEND, id=f"routines.{number}")
    for name, fields in found.fields.items():
        if doubt := service.doubt_about(fields["task"]):
            told = (
                f"The routine {name!r}, declared in {found.places[name][0]}, is of the task {fields['task']}: {doubt}"
            )
            hint = "That is right for a task that only its workers know, in another repository say."
            yield checks.Warning(told, hint=hint, id="routines.W019")
