"""docs/commands.md: every subcommand of `manage.py routines` with its options, as its parser knows them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from django.core.management import load_command_class

from reference import reading

HEAD = """\
# The command line: every subcommand

`python manage.py routines SUBCOMMAND …`. A routine is given by its name, or with `--id` by its id. What is done from
here is in the history with the name of the shell's user. `--json`, where it is there, prints for programs; the options
of every Django command (`--settings`, `-v` …) are not listed. `make reference` writes this page from the parser itself.

"""


def page() -> str:
    parser = load_command_class("routines_app", "routines").create_parser("manage.py", "routines")
    return HEAD + "\n".join(_section(name, of) for name, of in _leaves("", parser))


def _leaves(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The parsers that are called in the end, with their names: `pool change`."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name.strip(), parser
    for action in below:
        for word, inner in action.choices.items():
            yield from _leaves(f"{name} {word}", inner)


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    rows = [_row(action) for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    table = "| option | meaning |\n| --- | --- |\n" + "".join(rows) if rows else ""
    return f"## {name}\n\n{reading.one_line(parser.description or '')}\n\n{table}"


def _row(action: argparse.Action) -> str:
    shown = ", ".join(f"`{flag}{_value(action)}`" for flag in action.option_strings) or f"`{_operand(action)}`"
    said = [reading.cell(action.help)] if action.help else []
    said += ["required"] if action.required and action.option_strings else []
    said += [f"default: `{action.default}`"] if _has_default(action) and "default" not in (action.help or "") else []
    return f"| {shown} | {'; '.join(said)} |\n"


def _has_default(action: argparse.Action) -> bool:
    return isinstance(action.default, str | int | float) and action.default not in ("", False, argparse.SUPPRESS)


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    return f" {_choices(action) or action.metavar or action.dest.upper()}"


def _operand(action: argparse.Action) -> str:
    name = _choices(action) or str(action.metavar or action.dest)
    return f"{name} …" if action.nargs in ("*", "+") else name


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""
