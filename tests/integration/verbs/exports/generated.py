"""Routines, rotations and pools as people could have made them, generated: what goes out must come back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from routines_app import service
from tests.integration.conftest import MONDAY, NOTE

OTHER = "tests.acceptance.tasks.fail"
SECRET = "hunter2-s3cr3t-"  # what every secret here begins with
SECRET_NAMES = ("password", "api_key", "dbPass", "Authorization", "token-2")

_letters = st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="\x00•")
TEXTS = st.one_of(
    st.text(_letters, max_size=12),
    st.sampled_from(
        ["on", "no", "null", "~", "12:30", "1e5", "-.5", "0o7", "1_000", "0x1f", "2026-01-01", "=", "<<", "- a", "a: b"]
    ),
    st.sampled_from(
        ["# c", "'", '"', "a\nb", "a\n\nb\n", " a\n b", "\ta", "a ", "{x", "[", "&a", "*a", "!t", "%", "@", "`"]
    ),
    st.sampled_from(
        ["\u2028", "\x85", "\ufeff", "😀", "żółć", "a\r\nb", "", " ", "\n", "---", "...", "?", "| x", "> x"]
    ),
)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(-1e12, 1e12, allow_nan=False).filter(lambda each: each != 0)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
SECRETS = st.text("abcXYZ019", max_size=6).map(lambda text: SECRET + text)
KEYS = TEXTS | st.sampled_from(["$secret", "$$secret", "$$$secret", "is", "a.b", "a[0]", "name", "value"])


def _secretly(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with a secret in it, a list with an option, an address with a password."""
    return st.one_of(
        st.tuples(st.sampled_from(SECRET_NAMES), SECRETS | SECRETS.map(lambda text: [text, 1])).map(
            lambda two: dict([two])
        ),
        SECRETS.map(lambda text: ["--password", text]),
        SECRETS.map(lambda text: {"name": "token", "value": text}),
        SECRETS.map(lambda text: f"postgres://ada:{text}@db/shop"),
        st.lists(values, max_size=3),
        st.dictionaries(KEYS, values, max_size=3),
    )


VALUES = st.recursive(SCALARS, _secretly, max_leaves=8)
ARGUMENTS = st.dictionaries(KEYS | st.sampled_from(SECRET_NAMES), VALUES, max_size=3).map(
    lambda found: {key: SECRET + "x" if key in SECRET_NAMES else value for key, value in found.items()}
)
NAMES = st.text(st.sampled_from("abżд-_.:' 2"), min_size=1, max_size=6).map(lambda text: f"r{text.strip()}x")
DURATIONS = st.integers(1, 10**8).map(lambda count: timedelta(milliseconds=count * 1000 + count % 7))
MOMENTS = st.integers(1, 10**9).map(lambda seconds: MONDAY + timedelta(seconds=seconds))

POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXTS.filter(lambda text: "\x85" not in text),
        "tags": st.lists(st.sampled_from(["a", "nightly", "żółć", "on", "1.5"]), max_size=3),
        "group": st.sampled_from(["", "shop", "no"]),
        "queue": st.sampled_from(["", "slow"]),
        "options": st.sampled_from([None, {"priority": 3}, {"headers": {"authorization": SECRET + "h", "x": [1]}}]),
        "jitter_ms": st.integers(0, 10_000),
        "priority": st.sampled_from(["LOW", "MEDIUM", "HIGH"]),
        "emphasis": st.sampled_from([0, 1, 2.5, 100]),
        "catch_up_policy": st.sampled_from(["SKIP", "LAST"]),
        "misfire_grace_ms": st.integers(0, 10**7),
        "catch_up_window_ms": st.none() | st.integers(1000, 10**9),
        "catch_up_limit": st.none() | st.integers(1, 100),
        "timeout_ms": st.none() | st.just(0) | st.integers(1000, 86_400_000),
        "expires_ms": st.none() | st.integers(1000, 10**8),
        "retry_delay_ms": st.integers(0, 600_000),
        "retry_jitter": st.floats(0, 1),
        "retry_for": st.sampled_from([[], ["ValueError", "shop.Late"]]),
        "park_after": st.none() | st.integers(1, 9),
        "keep_result": st.booleans(),
        "end_at": MOMENTS,
    },
)
OF_ROUTINES = st.fixed_dictionaries(
    {},
    optional={
        "args": st.lists(VALUES, max_size=3),
        "kwargs": ARGUMENTS,
        "concurrency_policy": st.sampled_from(["ALLOW", "FORBID", "REPLACE"]),
        "max_attempts": st.integers(1, 9),
        "no_retry_for": st.sampled_from([[], ["KeyError"]]),
    },
)
TRIGGERS = st.one_of(
    st.just({}),
    st.builds(
        lambda cron, zone: {"cron": cron, "timezone": zone},
        st.sampled_from(["0 9 * * MON-FRI", "*/5 * * * *", "@hourly"]),
        st.sampled_from(["UTC", "Europe/Paris"]),
    ),
    DURATIONS.map(lambda every: {"every": every}),
    st.builds(
        lambda every, start: {"every": every, "start_at": start - timedelta(days=9)},
        DURATIONS,
        MOMENTS.map(lambda at: min(at, MONDAY)),
    ),
)
PHASES = st.sampled_from(
    [
        [],
        [{"name": "plan", "task": NOTE}],
        [{"name": "plan", "task": NOTE, "kwargs": {"token": SECRET + "p"}}, {"name": "go", "task": OTHER, "args": [1]}],
    ]
)
PAUSES = st.none() | st.fixed_dictionaries(
    {}, optional={"reason": st.sampled_from(["", "broken", "it's on\nhold"]), "until": MOMENTS}
)


@st.composite
def fleets(draw: st.DrawFn) -> list[Any]:
    """What to call to make it all, in order."""
    pools = draw(st.lists(st.sampled_from(["db", "mail", "no"]), unique=True, max_size=3))
    acts: list[Any] = [("create_pool", name, {"max_concurrent": draw(st.integers(1, 9))}) for name in pools]
    if bool(pools) and draw(st.booleans()):
        acts.append(("update_pool", pools[0], {"is_default": True}))
    rotations = draw(st.lists(st.sampled_from(["feeds", "null"]), unique=True, max_size=2))
    for name in rotations:
        own = {"budget": draw(st.integers(1, 5)), "fresh_for": draw(DURATIONS), "phases": draw(PHASES)}
        own |= draw(st.sampled_from([{}, {"max_in_flight": 7, "task": NOTE, "archive_vanished": True}]))
        acts.append(("create_rotation", name, own | draw(TRIGGERS) | draw(POLICIES)))
    names: list[str] = []
    for name in draw(st.lists(NAMES, unique_by=str.casefold, max_size=5)):
        values = {"task": draw(st.sampled_from([NOTE, OTHER]))} | draw(POLICIES) | draw(OF_ROUTINES)
        if bool(rotations) and draw(st.booleans()):
            values |= {"rotation": draw(st.sampled_from(rotations)), "phases": draw(PHASES)}
            values.pop("concurrency_policy", None)
        else:
            values |= draw(TRIGGERS)
        if bool(pools) and draw(st.booleans()):
            values["pool"] = draw(st.sampled_from(pools))
        if bool(names) and draw(st.booleans()):
            values["parent"] = draw(st.sampled_from(names))
        acts.append(("create_routine", name, values))
        names.append(name)
        if (pause := draw(PAUSES)) is not None:
            acts.append(("pause_routine", name, pause))
    return acts


def make(acts: list[Any]) -> None:
    for verb, name, values in acts:
        getattr(service, verb)(name, **values)
