"""Secrets in texts: log lines, errors, tracebacks, results that are no JSON, strings inside values.

Nobody can tell where the value after a secret name ends, so the rest of its line goes, and the rest of the text when
a bracket or a quote is left open: better too little to read than a part of a secret. Only what has a look of its own
(the password of an address, a key of a known make) or an end that can be told (the content of an element, a value that
stands before its name) is cut out of its line.

Long texts are read once. Whatever is looked for around a place is bounded, or consumed by the finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from string import ascii_letters, digits

from routines_app.conf import get_settings
from routines_app.masks.secret_names import STEMS, looks_secret

MASK = "••••••"
CUT = "…"  # where a text was cut before it was stored, the end of a secret may be missing
ENDLESS = ('"""', "'''", "-----BEGIN")  # values that go on over lines
QUOTED = re.compile(r""" "[^"\\]*(?:\\.[^"\\]*)*"? | '[^'\\]*(?:\\.[^'\\]*)*'? """, re.VERBOSE | re.DOTALL)

NAME_LETTERS = ascii_letters + digits + "_.-"
LONGEST_NAME = 64
_REST_OF_NAME = re.compile(r"[\w.-]{0,40}")
_QUOTE = r"""\\*["']"""

# What stands between a secret name and its value, and the characters that it begins with.
_BETWEEN = frozenset("\\\"']:=%,")
_ASSIGNED = re.compile(rf"""(?:{_QUOTE})?\]?\s{{0,40}}(?:[:=]+>?|%3[ad])\s*(?=\S)""", re.IGNORECASE)
_SAID = re.compile(rf"[ \t]{{1,40}}(?={_QUOTE})")  # WITH PASSWORD 'x'
_LABELLED = re.compile(  # "name": "password", "value": "x"
    rf"{_QUOTE}\s{{0,40}},\s{{0,40}}{_QUOTE}(?:values?|val|content|data|default){_QUOTE}\s{{0,40}}[:=]\s*(?=\S)",
    re.IGNORECASE,
)
_NEXT_ARGUMENT = re.compile(rf"(?:{_QUOTE})?[\s,]{{1,40}}(?=\S)")  # --password x, "--password", "x"
_SECOND_OF_PAIR = re.compile(rf"{_QUOTE}\s{{0,40}},\s*(?=\S)")  # ("password", "x")

# "value": "x", "name": "password"
_QUOTES = r"""\\{0,8}["']"""  # in JSON inside of JSON with backslashes
_VALUE = re.compile(
    rf"""["'](?:values?|val|content|data|default){_QUOTES}\s{{0,40}}[:=]\s{{0,40}}(?:[bru]{{1,2}}(?=["']))?""",
    re.IGNORECASE,
)
_ESCAPED_QUOTE = re.compile(r"""\\{1,8}["']""")
_BRACKETED_OR_BARE = re.compile(r"""[\[({][^\[\](){}]*[\])}]?|[^\s,"'\\]{0,200}""")
_ITS_NAME = re.compile(
    rf"""
    \s{{0,40}} , [^{{}}]{{0,80}}? {_QUOTES}(?:name|key|field|header|variable|option){_QUOTES}
    \s{{0,40}}[:=]\s{{0,40}} {_QUOTES}(?P<name>[\w.-]{{1,64}})
    """,
    re.IGNORECASE | re.VERBOSE,
)

# <password>x</password>
_ELEMENT = re.compile(r"<(?P<tag>(?:[\w.-]{1,64}:)?(?P<name>[\w.-]{1,64}))(?:\s{1,20}[\w:.-]{1,40}\s?=[^<>]{0,400})?>")
_CONTENT = re.compile(r"[^\s<]|<!\[")
LONGEST_CONTENT = 4_000  # characters until the end of an element

_RUN = re.compile(r"""[^\s"'<>`]*""")
_USER = re.compile(r"""[^\s"'<>`/@:]*:""")
_PORT = re.compile(r"\d{1,5}(?=[/?#,;)\]}]|$)")
_QUERY = re.compile(r"[^?@:]{0,200}\?[\w.-]{1,40}=")  # behind a port: /path?mail=
_NEXT_ADDRESS = re.compile(r"[,;][A-Za-z][\w+.-]{0,40}://")
_KNOWN = re.compile(
    r"""
      (?<![A-Za-z0-9]) (?: AKIA | ASIA ) [0-9A-Z]{16} (?![A-Za-z0-9])
    | (?<!\w) gh[pousr]_ [A-Za-z0-9]{20,}
    | (?<![\w-]) eyJ [\w-]{8,} \. [\w-]{8,} \. [\w-]*
    | -----BEGIN\ [A-Z ]{0,40} PRIVATE\ KEY----- .*? (?: -----END\ [A-Z ]{0,40} PRIVATE\ KEY----- | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)
_HINTS = ("pass", "secret", "token", "auth", "credential", "pwd", "jwt", "cookie", "dsn", "key", "identified", "bearer")
_KNOWN_HINTS = ("AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "eyJ", "PRIVATE KEY")  # found much faster


def masked_line(text: str) -> str:
    """A text without its secrets; the same text where it has none."""
    shown = _without_passwords_in_addresses(_without_named_values(text))
    return _KNOWN.sub(MASK, shown) if any(hint in shown for hint in _KNOWN_HINTS) else shown


def _without_named_values(text: str) -> str:
    patterns = get_settings().secret_patterns
    lowered = text.lower()
    if not any(hint in lowered for hint in _hints(patterns)):
        return text
    shown = _cut_out(text, _contents_of_elements(text))
    shown = _cut_out(shown, _values_before_names(shown))
    return _without_values_after_names(shown, patterns)


def _cut_out(text: str, places: Iterable[tuple[int, int]]) -> str:
    shown, at = [], 0
    for start, end in places:
        shown += [text[at:start], MASK]
        at = end
    return "".join([*shown, text[at:]]) if shown else text


def _contents_of_elements(text: str) -> Iterator[tuple[int, int]]:
    """`<password>…</password>`, also where the text was cut; a `<password>` by itself may be a placeholder."""
    at = 0
    while element := _ELEMENT.search(text, at):
        at = element.end()
        if not looks_secret(element["name"]):
            continue
        end = text.find(f"</{element['tag']}", at, at + LONGEST_CONTENT)
        if end == -1 and _CONTENT.match(text, at):
            end = _end_of_value(text, at)
        if end > at:
            yield at, end
            at = end


def _values_before_names(text: str) -> Iterator[tuple[int, int]]:
    """`"value": "…", "name": "password"`, also with something else between them."""
    at = 0
    while value := _VALUE.search(text, at):
        at = value.end()
        end = _end_of_entry(text, at)
        its = _ITS_NAME.match(text, end)
        if its and looks_secret(its["name"]):
            yield at, end
            at = end


def _end_of_entry(text: str, start: int) -> int:
    if escaped := _ESCAPED_QUOTE.match(text, start):
        end = text.find(escaped[0], escaped.end())
        return len(text) if end == -1 else end + len(escaped[0])
    entry = QUOTED.match(text, start) or _BRACKETED_OR_BARE.match(text, start)
    return entry.end() if entry else start


def _without_values_after_names(text: str, patterns: tuple[str, ...]) -> str:
    """`token=…`, `"password": "…"`, `Authorization: Bearer …`, `--password …`, `IDENTIFIED BY …`."""
    places, shown, at, look_from = _places(patterns), [], 0, 0
    while found := places.search(text, look_from):
        start = found.end() if found.lastgroup == "announced" else _start_of_value(text, found, at)
        if start is None:
            look_from = found.end()
            continue
        shown += [text[at:start], MASK]
        at = look_from = _end_of_value(text, start)
    return "".join([*shown, text[at:]]) if shown else text


@lru_cache(maxsize=8)
def _hints(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """One of these is in each text that `_places` finds something in: most texts have none, and cost nothing more."""
    own = [max(re.split("[-_ ]", pattern.lower()), key=len) for pattern in patterns if pattern]
    return (*_HINTS, *own)


@lru_cache(maxsize=8)
def _places(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Where to look: at stems of secret names, and behind words that announce a secret by themselves."""
    spelled = [re.escape(pattern.replace("-", "_")).replace("_", "[-_ ]") for pattern in patterns if pattern]
    own = "".join(f"| {pattern}" for pattern in spelled)
    with_plugin = r"(?:with\s{1,20}\S{1,40}\s{1,20})?(?:by|as)\s{1,20}(?:password\s{1,20})?"
    announced = rf"identified\s{{1,20}}{with_plugin}(?=['\"]) | (?-i:IDENTIFIED\s{{1,20}}BY\s{{1,20}}(?=\S))"
    bearer = r"bearer\s{1,4}(?=[\w.~+/=-]{12})"
    return re.compile(rf"(?P<announced> {announced} | {bearer} ) | {STEMS} {own}", re.VERBOSE | re.IGNORECASE)


def _start_of_value(text: str, stem: re.Match[str], begins: int) -> int | None:
    """Where the value begins, if the stem is part of a secret name and a value comes after that."""
    rest = _REST_OF_NAME.match(text, stem.end())
    end = rest.end() if rest else stem.end()
    if not (text[end : end + 1] in _BETWEEN or text[end : end + 1].isspace()):
        return None
    before = text[max(begins, stem.start() - LONGEST_NAME) : stem.start()]
    begin = stem.start() - (len(before) - len(before.rstrip(NAME_LETTERS)))
    name = text[begin:end]
    between = _ASSIGNED.match(text, end) or _SAID.match(text, end) or _LABELLED.match(text, end)
    if between is None and name.startswith("-"):
        between = _NEXT_ARGUMENT.match(text, end)
    if between is None and _opens_a_pair(text[max(0, begin - 40) : begin]):
        between = _SECOND_OF_PAIR.match(text, end)
    return between.end() if between and looks_secret(name) else None


def _opens_a_pair(before: str) -> bool:
    unquoted = before.rstrip("\\\"'")
    return unquoted != before and unquoted.rstrip().endswith(("[", "("))


def _end_of_value(text: str, start: int) -> int:
    if text.startswith(ENDLESS, start):
        return len(text)
    quoted = QUOTED.match(text, start)
    end = text.find("\n", quoted.end() if quoted else start)
    if end == -1 or _leaves_open(text[start:end]):
        return len(text)
    return end


def _leaves_open(line: str) -> bool:
    """Whether a bracket is open at the end of the line; those in quotes do not count."""
    depth = 0
    for letter in re.findall(r"[(\[{)\]}]", QUOTED.sub("", line)):
        depth = depth + 1 if letter in "([{" else max(0, depth - 1)
    return depth > 0


def _without_passwords_in_addresses(text: str) -> str:
    """`scheme://user:…@host`. A password may hold `@` and `/`: it ends at the last `@` before a space or a quote."""
    shown, at, look_from = [], 0, 0
    while (found := text.find("://", look_from)) != -1:
        run = _RUN.match(text, found)
        end_of_run = run.end() if run else found
        ends = text.rfind("@", found, end_of_run)
        ends = ends if ends != -1 else text.find(CUT, found, end_of_run)
        begins = _begin_of_password(text, found, end_of_run) if ends != -1 else -1
        if -1 < begins < ends:
            shown += [text[at:begins], MASK]
            at = ends
        look_from = max(end_of_run, found + 3)
    return "".join([*shown, text[at:]]) if shown else text


def _begin_of_password(text: str, at: int, end: int) -> int:
    """After the user of the first address in the run that has one with a password; -1 without."""
    while (at := text.find("://", at, end)) != -1:
        at += 3
        user = _USER.match(text, at, end)
        if user is None:
            continue
        port = _PORT.match(text, user.end(), end)
        if port is None:
            return user.end()
        if _QUERY.match(text, port.end(), end):
            continue
        # A password may look like a port and a path: it does if an `@` follows that is not the next address's.
        following = _NEXT_ADDRESS.search(text, port.end(), end)
        at = following.start() if following else end
        if text.find("@", port.end(), at) != -1:
            return user.end()
    return -1
