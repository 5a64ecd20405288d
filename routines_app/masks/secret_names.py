"""Names that announce a secret: of arguments, fields, options, headers and variables.

A name is read in words, which end at `_`, `-`, spaces and the humps of camelCase: `pass` is a word of `dbPass` and
`smtp-pass`, but none of `passenger` or `bypass`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from routines_app.conf import get_settings

LONGEST_KEPT = 200  # characters of a name whose judgement is remembered

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_APART = re.compile(r"[-\s]")
# Of a name as `_api_key_2_`. The first rows hold wherever they stand in a name, the others as whole words.
_SECRET = re.compile(
    r"""
      pass_?(?: wor[dt] | wd | phrase | code ) | secret | token | authorization | credential | pwd | jwt
    | _(?: api | access | private | secret | signing | encryption | account | master | shared )_?keys?_
    | _(?: db | pg | my | mysql | redis | smtp | mail | ftp | ssh | ldap | root | admin | user | http | proxy | o )?
       (?: pass | auth )_
    | _cookies?_ | _dsn_
    """,
    re.VERBOSE,
)
STEMS = r"""
    pass | secret | token | authorization | credential | pwd | jwt | auth | cookie | dsn
    | (?: api | access | private | signing | encryption | account | master | shared )[-_ ]?key
"""
"""A regular expression, in any case: where a text has none of these, it has no secret name but a project's own."""


def looks_secret(name: object) -> bool:
    """Whether what stands under this name is to be hidden."""
    text = name if isinstance(name, str) else _text_of(name)
    settings = get_settings()
    judge = _judged if len(text) <= LONGEST_KEPT else _judged.__wrapped__
    return judge(text, settings.secret_patterns, settings.not_secret)


@lru_cache(maxsize=4096)
def _judged(name: str, patterns: tuple[str, ...], not_secret: tuple[str, ...]) -> bool:
    folded = _folded(name)
    if any(folded == _folded(shown) for shown in not_secret):
        return False
    if any(_folded(pattern) in folded for pattern in patterns):
        return True
    words = "_".join(word.lower() for word in _WORD.findall(name))
    return _SECRET.search(f"_{words}_") is not None


def _folded(name: str) -> str:
    return _APART.sub("_", name).lower()


def _text_of(name: object) -> str:
    try:
        return name.decode("latin-1") if isinstance(name, bytes) else str(name)
    except Exception:  # noqa: BLE001 - somebody else's __str__ may raise anything
        return ""
