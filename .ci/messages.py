"""`python .ci/messages.py`: bring the catalogs in routines_app/locale up to date. `--check`: say what is not.

Messages are found in Python (calls of KEYWORDS with literals) and in templates (as Django reads them). One that is new
comes without a translation, one that nobody says any more goes. `--check`, which `make check` asks, refuses both, and a
translation that has other gaps than its message. The compiled catalogs are written from the others.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "routines_app"
LANGUAGES = ("de", "fr")
KEYWORDS = {  # what is called: which arguments are context, one and many
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "said": (None, 0, None),
    "said_of": (None, 1, 2),
}
TEMPLATE_CALL = re.compile(r"\b(?:n?p?gettext|_)\(")
GAP = re.compile(r"%\((\w+)\)[sd]")


def found() -> Catalog:
    """Every message of the package, and in which file it stands."""
    catalog = Catalog(project="django-celery-routines", charset="utf-8", fuzzy=False)
    for path in sorted(PACKAGE.rglob("*.py")):
        _add(catalog, path, path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.html")):
        for call in _calls_of_template(path.read_text(encoding="utf-8")):
            _add(catalog, path, call)
    return catalog


def _add(catalog: Catalog, path: Path, source: str) -> None:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (message := _message(node)):
            context, one, many = message
            where = [(str(path.relative_to(ROOT)), 1)]
            catalog.add((one, many) if many else one, locations=where, context=context)


def _message(call: ast.Call) -> tuple[str | None, str, str | None] | None:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in KEYWORDS:
        return None
    context, one, many = (
        None if at is None or at >= len(call.args) else _literal(call.args[at]) for at in KEYWORDS[name]
    )
    return (context, one, many) if one else None


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _calls_of_template(source: str) -> Iterator[str]:
    """The calls that Django makes of a template's tags, each as Python; what is between them is blanked out."""
    text = templatize(source)
    for match in TEMPLATE_CALL.finditer(text):
        depth, at = 1, match.end()
        quote = ""
        while depth:
            letter = text[at]
            if quote:
                at += letter == "\\"
                quote = "" if text[at] == quote and letter != "\\" else quote
            elif letter in "'\"":
                quote = letter
            else:
                depth += (letter == "(") - (letter == ")")
            at += 1
        yield text[match.start() : at]


def catalog_of(language: str, messages: Catalog) -> Catalog:
    """The language's catalog with these messages: translations that are known, and none for what is new."""
    with _po(language).open("rb") as file:
        catalog = read_po(file, locale=language)
    catalog.update(messages, no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    return catalog


def texts_of(catalog: Catalog) -> tuple[bytes, bytes]:
    """The catalog for people, and compiled."""
    readable, compiled = io.BytesIO(), io.BytesIO()
    write_po(readable, catalog, width=120, omit_header=False, sort_by_file=True, include_lineno=False)
    write_mo(compiled, catalog)
    return readable.getvalue(), compiled.getvalue()


def problems_of(catalog: Catalog) -> Iterator[str]:
    """Messages without a translation, and translations that leave something out or add it."""
    for message in catalog:
        if not message.id:
            continue
        if message.fuzzy:  # such a one is not compiled: what was one sentence has got a plural, say
            yield f"{catalog.locale}: to be looked at again, and its mark (fuzzy) taken away: {message.id!r}"
        for text in _strings(message):
            if not text:
                yield f"{catalog.locale}: no translation of {message.id!r}"
            elif _gaps(text) - _gaps_of(message) or (_needed(message) - _gaps(text)):
                yield f"{catalog.locale}: other gaps than its message has: {text!r}"


def _strings(message: Message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (message.string,)


def _gaps_of(message: Message) -> set[str]:
    return set().union(*map(_gaps, message.id if isinstance(message.id, tuple) else (message.id,)))


def _needed(message: Message) -> set[str]:
    """What every form has to say: one thing may go without its number."""
    return set.intersection(*map(_gaps, message.id if isinstance(message.id, tuple) else (message.id,)))


def _gaps(text: str) -> set[str]:
    """The names in `{name}` and `%(name)s`."""
    try:
        braces = {name for _, name, _, _ in Formatter().parse(text) if name}
    except ValueError:  # a brace that stands for itself
        braces = set()
    return braces | set(GAP.findall(text))


def _po(language: str) -> Path:
    return PACKAGE / "locale" / language / "LC_MESSAGES" / "django.po"


def main() -> int:
    messages, told = found(), []
    for language in LANGUAGES:
        catalog, path = catalog_of(language, messages), _po(language)
        for file, text in zip((path, path.with_suffix(".mo")), texts_of(catalog), strict=True):
            if "--check" not in sys.argv:
                file.write_bytes(text)
            elif not file.exists() or file.read_bytes() != text:
                told.append(f"{file.relative_to(ROOT)} is not up to date: make messages")
        told += problems_of(catalog)
    print(*told[:40], f"{len(messages)} messages, {len(told)} problems", sep="\n")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main())
