"""Secrets in texts are not shown."""

from __future__ import annotations

import json
import os
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routines_app.admin.shown_values import masked_text
from routines_app.masks import MASK, masked_line
from tests.unit.masks.test_secret_names import SECRET

EXAMPLES = int(os.environ.get("ROUTINES_FUZZ_EXAMPLES", "0"))


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "hunter2", "rows": [1, 2',
        "{'db_password': 'hunter2', …",
        "auth token=hunter2 failed",
        'password: "hunter2',
        "Authorization: Bearer hunter2",
        '{"password": {"a": "hunter2…',
        '{"tokens": ["AAA", "hunter2"…',
        '{"tokens": [\n  "AAA",\n  "hunter2"…',
        "{'secret': ('a', 'hunter2')}",
        "tokens = dict(\n    a='hunter2',\n)",
        "passwords: {'a]': 1}, [\n'hunter2'",
        "password = 'one\nhunter2'",
        'password = """\nhunter2"""',
        "secret_key=-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----",
        "config['password'] = hunter2",
        "api key: hunter2",
        "password =>\n  hunter2",
        '"{\\"password\\": \\"hunter2',
        json.dumps("login failed password=hunter2"),
        json.dumps({"said": ["login failed password=hunter2"]}),
        json.dumps('{"password": {"a": "hunter2… [cut, 70000 characters]'),
        "[" * 100_000 + "password=hunter2",
        "PWD=hunter2",
        "export DB_PASS=hunter2 && run",
        "GET /x?user=a&access_token=hunter2 HTTP/1.1",
        "body: user=a%26password%3Dhunter2",
        "ALTER ROLE ada WITH PASSWORD 'hunter2' VALID UNTIL 'x'",
        'CREATE USER ada IDENTIFIED BY "hunter2"',
        "CREATE USER ada IDENTIFIED BY hunter2",
        "ALTER USER ada IDENTIFIED WITH mysql_native_password BY 'hunter2'",
        "connect postgres://ada:hunter2@db:5432/x failed",
        "redis://:hunter2@db/0",
        "amqp://ada:pa@ss/hunter2@broker//",
        "redis://:one@a,redis://:hunter2@b",
        "postgres://ada:hunter2…",
        "cut at 20: mysql://ada:hunter2… [cut, 70000 characters]",
        "postgres://ada:2024/hunter2@db/x",
        "redis://:99/hunter2@h",
        "amqp://ada:7?hunter2@h",
        "amqp://ada:7#hunter2@h//",
        "redis://:99,hunter2@h",
        "redis://:99;hunter2)@h",
        "postgres://ada:12/hunter2@db/x?owner=a@b",
        "redis://a:6379/0;redis://:hunter2@b/0",
        "http://db:8080/x?next=redis://:hunter2@b",
        "pg_dump --password hunter2 --host db",
        "['pg_dump', '--password', 'hunter2']",
        "headers [('Cookie', 'hunter2')]",
        '[\n  "token",\n  "hunter2"',
        '{"name": "token", "value": "hunter2"',
        "{'value': 'hunter2', 'name': 'DB_PASSWORD'}",
        "{'value': 'token hunter2', 'name': 'DB_PASSWORD'}",
        '{"Value": "a \\"quoted\\" hunter2", "Type": "String", "Name": "db-password"}, …',
        '"{\\"value\\": \\"hunter2\\", \\"key\\": \\"token\\"',
        "{'value': ['a', 'hunter2'], 'name': 'tokens'}",
        "[{'value': b'hunter2', 'name': 'token'}",
        "<password>hunter2</password>",
        "<ns:dbPassword type='x'>\n  one\n  hunter2\n</ns:dbPassword>",
        "<credentials><user>a</user>\n<word>hunter2</word></credentials>",
        "<token><![CDATA[hunter2]]></token>",
        "<token>hunter2… [cut, 70000 characters]",
        "private_key: hunter2",
        "Private key = hunter2",
        "dsn=hunter2",
        "jwt: hunter2",
        "Cookie: sessionid=hunter2",
        "auth=('ada', 'hunter2')",
        "Bearer hunter2-hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_in_texts_are_masked_by_their_look(text: str) -> None:
    """Cut JSON, tracebacks, log lines and strings inside JSON have names with values after them, too."""
    shown = masked_text(text)
    assert "hunter2" not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    "text",
    [
        "Traceback: line 5, in check_token",
        "tokens used up, 512 of 4096 [quota]",
        "Password changed for ada: done",
        "wrote 3 rows to secrets.csv",
        "The author: Ada, who passed: yes",
        "bypass=1 compass=n keyboard: de passengers: 12",
        "authority: example.org",
        "http://db:8080/x?mail=a@b.c and ada@example.org",
        "http://db:8080/x?mail=a@b.c&cc=d@e.f",
        "see https://example.org/a:b@c",
        "see https://example.org:8443/a/b, and mail to a@b.c",
        "{'value': 'hunter2', 'name': 'colour'}",
        "{'value': 3, 'name': 'colour'}, {'name': 'token'}",
        "usage: login <token> <url>",
        "<Token object at 0x7f> is no <password> of <a>ada</a>",
        "<b>token</b> <token></token>",
        "docker://nginx:latest for ada@example.org",
        "the bearer of news, identified as such",
        'File "/src/token.py", line 5, in check_token',
    ],
)
def test_harmless_texts_stay_readable(text: str) -> None:
    """A name without a value is no secret."""
    assert masked_text(text) == text


def test_only_the_line_of_the_secret_is_masked() -> None:
    """What stands around it, such as the rest of a traceback, is for reading."""
    text = "first\n  token = tokens['a'] or get(b)\nValueError: last\nAuthorization: Bearer x\nend"
    assert masked_text(text) == f"first\n  token = {MASK}\nValueError: last\nAuthorization: {MASK}\nend"


def test_an_address_stays_readable_around_its_password() -> None:
    """Which server it was about is what one wants to know."""
    text = "OperationalError: postgres://ada:x@db:5432/shop?sslmode=require is away"
    assert masked_line(text) == f"OperationalError: postgres://ada:{MASK}@db:5432/shop?sslmode=require is away"


def test_values_before_their_names_and_in_elements_are_cut_out() -> None:
    """Where they end can be told."""
    assert masked_line("{'value': 'x', 'name': 'token'} a") == f"{{'value': {MASK}, 'name': 'token'}} a"
    assert masked_line("<a><token>x</token> b</a>") == f"<a><token>{MASK}</token> b</a>"


@pytest.mark.parametrize(
    "secret", ["AKIAABCDEFGHIJKLMNOP", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"]
)
def test_keys_of_a_known_make_are_cut_out(secret: str) -> None:
    """They need no name before them."""
    assert masked_line(f"used {secret} twice") == f"used {MASK} twice"


def fuzzed(examples: int) -> settings:
    """The same examples in every run; `ROUTINES_FUZZ_EXAMPLES` asks for so many new ones instead."""
    return settings(max_examples=EXAMPLES or examples, derandomize=not EXAMPLES, database=None, deadline=None)


LETTERS = st.sampled_from(
    [
        *"ab \n\t\"'\\=:,([{}])@/-_…",
        "token",
        "pwd",
        "pass",
        "://",
        "--",
        MASK,
        "bearer ",
        "eyJ",
        "name",
        "<token>",
        "</token>",
        "'value': ",
        "'name': 'token'",
        "1/",
    ]
)


@given(st.lists(LETTERS, max_size=30).map("".join) | st.text())
@fuzzed(250)
def test_masking_a_text_twice_is_masking_it_once(text: str) -> None:
    """It never raises either."""
    once = masked_line(text)
    assert masked_line(once) == once


@given(
    before=st.lists(LETTERS, max_size=10).map("".join),
    after=st.lists(LETTERS, max_size=10).map("".join),
    name=st.sampled_from(SECRET),
    between=st.sampled_from(["=", ": ", " = ", "'] = ", '": "', "':'", " => ", '\\": \\"', " '", "%3D"]),
)
@fuzzed(150)
def test_what_follows_a_secret_name_is_never_shown(before: str, after: str, name: str, between: str) -> None:
    """Whatever stands around it."""
    assert "hunter2" not in masked_line(f"{before} {name}{between}hunter2{after}")


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "A",
            " ",
            "\\",
            "token",
            "token ",
            "token\n",
            "token: [",
            "token='",
            "token=1\n",
            "token\\\\",
            "pass",
            "--pass\n",
        ),
        *(
            "://",
            "://a:",
            "://a:@",
            "a@",
            "eyJ-",
            "eyJaaaaaaaa.",
            "AKIA",
            "-----BEGIN PRIVATE KEY",
            "x=1\n",
            "identified with ",
        ),
        *(
            "://a:1/",
            "://a:1/?b=",
            "://a:1,x",
            "<token>",
            "<token>\n",
            "<token> ",
            "<token>a</b>",
            "<token a='",
            "'value': '",
            "'value': \"",
            "'value': [",
            "'value': 'a', ",
            "'value': 'a', 'name': 'token'",
            "'value': \\'",
        ),
        *(
            "('token', ",
            "('token'",
            '"token" ',
            "bearer ",
            "-----BEGIN PRIVATE KEY-----",
            "private key",
            "[(",
            "token:\n",
        ),
    ],
)
def test_the_time_grows_with_the_text(piece: str) -> None:
    """Ten times the text costs about ten times the time, and not a hundred times, whatever it is made of."""
    small, large = (piece * (size // len(piece)) + "://@,x://?b=@" for size in (30_000, 300_000))
    fastest = min(_seconds(small) for _ in range(3))
    assert _seconds(large) < 30 * fastest + 0.1


def _seconds(text: str) -> float:
    started = process_time()
    masked_line(text)
    return process_time() - started
