"""docs/reference.md: words that are stored on rows, signals, system checks, permissions, a routine's fields."""

from __future__ import annotations

from enum import StrEnum

from django.apps import apps
from django.contrib import admin

from reference import checks, reading
from routines_app import receivers, signals
from routines_app.core import words
from routines_app.models import Routine
from routines_app.service import format_duration
from routines_app.verbs.checking.validation import FIELDS

HEAD = """\
# Words, signals, checks, permissions

What stands on rows, in events and in logs. This page is written by `make reference` from the code itself:
`routines_app/core/words.py`, `signals.py`, the system checks and the models. Settings are in
[settings.md](settings.md), verbs in [service.md](service.md), subcommands in [commands.md](commands.md).

"""
WORDS: tuple[tuple[str, type[StrEnum], str], ...] = (
    ("Reasons", words.Reason, "Why a run is in its state: `run.reason`. What to do about each is in [why.md](why.md)."),
    ("Statuses of a run", words.RunStatus, "`run.status`."),
    ("What asked for a run", words.RunTrigger, "`run.trigger`."),
    ("Sources", words.Source, "Why the next time was chosen: `state.next_source`, and `run.source`."),
    ("Statuses of a routine", words.RoutineStatus, "`routine.status`."),
    ("Overlap", words.ConcurrencyPolicy, "`concurrency_policy`, with pictures in [policies.md](policies.md#overlap)."),
    ("Catch-up", words.CatchUpPolicy, "`catch_up_policy`, with pictures in [policies.md](policies.md#catch-up)."),
)
CHECKS = """\
## System checks

`manage.py check` runs most of them, `check --database default` and `migrate` those that ask the database,
`check --deploy` those that ask Redis too. Text that depends on what was found is `…`.

| id | level | what | hint |
| --- | --- | --- | --- |
"""
PERMISSIONS = """\
## Permissions

Which of them allows what, and what that amounts to, is in [security.md](security.md#permissions). Django makes the
usual four for the other tables too ({others}); nothing asks for these.

| permission | Django's name for it |
| --- | --- |
"""
FIELDS_HEAD = """\
## A routine's fields

What `create_routine`, `update_routine`, `ensure_routine` and `@routine` take. Durations are a timedelta or text
(`30s`, `1h30m`); a plain number is milliseconds. `every="10m"` stands for `interval_ms`.

| field | default | meaning |
| --- | --- | --- |
"""


def page() -> str:
    parts = [_words(title, of, said) for title, of, said in WORDS]
    return HEAD + "\n".join([*parts, _signals(), _checks(), _permissions(), _fields()])


def _words(title: str, of: type[StrEnum], said: str) -> str:
    texts = reading.texts_below(of)
    rows = "".join(
        f"| {f'`{word.value}`' if word else '(empty)'} | {reading.cell(texts[word.name])} |\n" for word in of
    )
    return f"## {title}\n\n{said}\n\n| word | means |\n| --- | --- |\n{rows}"


def _signals() -> str:
    texts = reading.texts_below(signals)
    names = {id(signal): name for name, signal in vars(signals).items()}
    rows = [
        f"| `{names[id(signal)]}` | `{event}` | {reading.cell(texts[names[id(signal)]])} |\n"
        for signal, (event, *_) in receivers._EVENTS.items()
    ]
    about = "\n\n".join((signals.__doc__ or "").split("\n\n")[1:]).strip()
    head = "| signal | event | when |\n| --- | --- | --- |\n"
    return f"## Signals\n\nIn `routines_app.signals`. {about}\n\n{head}{''.join(rows)}"


def _checks() -> str:
    rows = [
        f"| `{each.id}` | {each.level} | {reading.cell(each.what)} | {reading.cell(each.hint)} |\n"
        for each in checks.found()
    ]
    return CHECKS + "".join(rows)


def _permissions() -> str:
    models = sorted(apps.get_app_config("routines").get_models(), key=lambda model: model.__name__)
    others = ", ".join(f"`{model._meta.model_name}`" for model in models if not admin.site.is_registered(model))
    rows = []
    for meta in (model._meta for model in models if admin.site.is_registered(model)):
        usual = [(f"{act}_{meta.model_name}", f"Can {act} {meta.verbose_name}") for act in meta.default_permissions]
        rows += [f"| `routines.{name}` | {said} |\n" for name, said in [*usual, *meta.permissions]]
    return PERMISSIONS.format(others=others) + "".join(rows)


def _fields() -> str:
    rows = [f"| `{name}` | {_default(name)} | {reading.cell(_meaning(name))} |\n" for name in FIELDS]
    return FIELDS_HEAD + "".join(rows)


def _default(name: str) -> str:
    if name in ("name", "task"):
        return "must be given"
    if name == "timezone":
        return "`DEFAULT_TIMEZONE`"
    value = getattr(Routine(), name) if name not in ("parent", "pool", "rotation") else None
    if value in (None, "", [], {}):
        return "none"
    return f"`{format_duration(value) if name.endswith('_ms') and value else value}`"


def _meaning(name: str) -> str:
    field = Routine._meta.get_field(name)
    listed = ", ".join(f"`{word}`" for word, _ in field.flatchoices)
    return " ".join(filter(None, [MEANINGS.get(name, str(field.help_text)), listed]))


MEANINGS = {
    "name": "How people and code call it; unique.",
    "description": "For people.",
    "tags": "Words to find it by, and to hint many at once.",
    "group": "One word to find it by.",
    "args": "Positional arguments, as JSON has them.",
    "kwargs": "Keyword arguments.",
    "trigger_kind": "Follows from `cron` or `every`; neither is MANUAL.",
    "interval_ms": "Every so often, counted from `start_at` or its creation.",
    "once_at": "At one moment; `at=` stands for it.",
    "timezone": "In which its cron is read.",
    "start_at": "The first moment that may be a slot.",
    "end_at": "The last moment that may be one.",
    "jitter_ms": "Its runs begin up to so much after their slots, each by its own fixed share.",
    "priority": "Its band, among what waits for room.",
    "emphasis": "How much its depth counts in the rank.",
    "parent": "The routine that it is below, for the rank.",
    "concurrency_policy": "What becomes of a slot that finds the routine active.",
    "pool": "Whose ceiling its runs count against.",
    "catch_up_policy": "What becomes of slots that nobody fired in time.",
    "misfire_grace_ms": "How late a slot may be claimed before it counts as missed.",
    "max_attempts": "All attempts at a slot, the first included.",
    "retry_delay_ms": "The wait after the first failure; it doubles.",
    "retry_max_delay_ms": "It does not get longer than this.",
    "retry_jitter": "Up to this share of the delay is added at random.",
    "no_retry_for": "Exception names that end the chain at once; they win over `retry_for`.",
    "min_interval_ms": "No closer to the last slot than this, whatever a hint says.",
    "max_interval_ms": "No further from it than this, whatever hints and failures make of it.",
    "keep_result": "Whether django-celery-results gets a record of each run.",
}
"""For fields whose columns say nothing themselves."""
