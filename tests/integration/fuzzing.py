"""What fuzzed requests are made of, and what every one of them is answered with: anything but a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, quote_plus

from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from routines_app import service

EXAMPLES = int(os.environ.get("ROUTINES_FUZZ_EXAMPLES", "0"))
ANSWERS = {200, 201, 302, 400, 403, 404, 405, 409, 413, 414, 422}
FORM = "application/x-www-form-urlencoded"

Pairs = list[tuple[str, bytes]]

DEEP = "[" * 20_000 + "]" * 20_000
DEEP_OBJECT = '{"a":' * 5_000 + "1" + "}" * 5_000
DIGITS = "9" * 5_000

_NASTY = [
    *("", " ", "\x00", "a\x00b", "\ud800", "\u202etroper", "a\u200bb", "a\u2028b", "\ufeff", "x" * 20_000),
    *("0", "-1", "1.5", "nan", "inf", "1e400", "9" * 30, f"-{'9' * 19}", DIGITS, "\u0663", "\u00b2", "0x10", "1_000"),
    *(DEEP, DEEP_OBJECT, f"[{DIGITS}]", f'{{"a": -{DIGITS}}}', "[1e999]", "[NaN]", "[", "]", "{}", "null", '"'),
    *('["\\u0000"]', '["\\ud800"]', '{"\\u0000": 1}', '[{"token": "••••••"}]', '{"token": "••••••", "a": [1]}'),
    *("0001-01-01T00:00", "9999-12-31T23:59:59", "2026-03-29T02:30", "2026-13-01", "10000-01-01", "24:00:00"),
    *(f"{DIGITS}s", "1e9d", "-5m", "10m 10m", "0.0000001s", "1y", "99999999999d", "1.5h"),
    *("*/0 * * * *", "0 0 31 2 *", "@reboot", "* * * * * *", "61 * * * *", f"{DIGITS} * * * *", "0-59/7 * * * *"),
    *("Europe/Paris", "../../etc/passwd", "/etc/passwd", "UTC\x00", "a" * 300, "localtime"),
    *("CRON", "INTERVAL", "ONCE", "MANUAL", "ALL", "ALLOW", "SKIP", "ACTIVE", "failing", "on", "1", "true"),
    *(
        "<script>alert(1)</script>",
        "'; DROP TABLE routines_routine; --",
        "%s %(a)s %n",
        "{{ 7|add:7 }}",
        '"a, b',
        "a\r\nb",
    ),
    *("01890a5d-ac96-774b-bcce-b302099a8057", "routines.routine", "//evil.example/", "javascript:1", "/a\nb"),
]
NASTY = [text.encode("utf-8", "surrogatepass") for text in _NASTY] + [b"\xff\xfe", b"\xc0\x80", b"\xf4\x90\x80\x80"]
VALUES = st.sampled_from(NASTY) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass"))


def fuzzed(examples: int) -> Any:
    """The same examples in every run; `ROUTINES_FUZZ_EXAMPLES` asks for so many new ones instead."""
    return settings(
        max_examples=EXAMPLES or examples,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def pairs(names: list[str], most: int = 8) -> st.SearchStrategy[Pairs]:
    """Some of these fields with values that nobody should type."""
    return st.lists(st.tuples(st.sampled_from(names), VALUES), min_size=1, max_size=most)


def encoded(values: Pairs) -> str:
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in values)


def over(typed: dict[str, Any], changed: Pairs) -> Pairs:
    """A form as it was filled, with some fields typed over."""
    names = {name for name, _ in changed}
    return [(name, str(value).encode()) for name, value in typed.items() if name not in names] + changed


def asked(client: Client, address: str, values: Pairs) -> None:
    """A page that is asked for with these parameters is answered. They are cut to what an address may hold, or nothing
    behind that bound would ever be asked."""
    each = service.LONGEST_ADDRESS // (4 * len(values)) if values else 0  # a byte may be three characters there
    with undone():
        _judge(client.get(address, QUERY_STRING=encoded([(name, value[:each]) for name, value in values])))


def posted(client: Client, address: str, values: Pairs) -> None:
    """A form that is sent with these values is answered."""
    with undone():
        _judge(client.post(address, data=encoded(values), content_type=FORM))


def path_part(value: bytes) -> str:
    return quote(value, safe="")


@contextmanager
def undone() -> Iterator[None]:
    """What an example has written is gone before the next one; a transaction that an error has broken shows here."""
    with transaction.atomic():
        yield
        transaction.get_connection().ensure_connection()
        with transaction.atomic(), transaction.get_connection().cursor() as cursor:
            cursor.execute("SELECT 1")
        transaction.set_rollback(True)


def _judge(response: Any) -> None:
    """The client raises what a view has raised, so this is about what was answered."""
    assert response.status_code in ANSWERS, response.status_code
    getattr(response, "render", lambda: None)()
