"""The subcommands of `manage.py routines`: each module is a verb, and its class `Command` is that subcommand.

A module that is put here is a subcommand under its own name, with hyphens (`clear_hints`: `clear-hints`) and without
the `_` behind a word of Python's (`import_`: `import`); one without a `Command` is an error. Each calls a verb of
`routines_app.service` or reads querysets, and says what came of it; nothing is decided here. What they share is in
`routines_app/management/subcommand.py`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from routines_app.management.subcommand import Subcommand


def subcommands() -> dict[str, type[Subcommand]]:
    """All of them, by name."""
    verbs = sorted(module.name for module in iter_modules(__path__))
    return {verb.rstrip("_").replace("_", "-"): import_module(f"{__name__}.{verb}").Command for verb in verbs}
