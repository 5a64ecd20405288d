"""A cron expression as a sentence, where one is known to be true of it; otherwise it stands for itself.

The describer knows fewer forms than we read, and says wrong things of some: a numbered weekday in a list, two day
fields of which either matches, hours without how often. So it is only given what it is right about.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cron_descriptor import CasingTypeEnum, ExpressionDescriptor, Options

from routines_app import service

_NUMBER = r"(?:[0-9]{1,2}|[A-Z]{3})"
_SPAN = rf"{_NUMBER}-{_NUMBER}"
_PLAIN = rf"\*|{_NUMBER}(?:,{_NUMBER})*|{_SPAN}|(?:\*|{_NUMBER}|{_SPAN})/[0-9]{{1,2}}"
_LISTED = rf"{_PLAIN}|(?:{_NUMBER}|{_SPAN})(?:,(?:{_NUMBER}|{_SPAN}))*"
_DESCRIBED = re.compile(
    rf"(?P<second>{_LISTED}) (?P<minute>{_LISTED}) (?P<hour>{_PLAIN})"
    rf" (?P<day>{_LISTED}|\?|L|L-[0-9]{{1,2}}|[0-9]{{1,2}}W|LW) (?P<month>{_LISTED})"
    rf" (?P<weekday>(?!0-7)(?:{_LISTED})|\?|{_NUMBER}#[1-5]|{_NUMBER}L)"
)
_ONE_VALUE = re.compile(r"\b(\w+)-\1\b(?:/[0-9]+)?")
_TO_THE_LAST = re.compile(r"\b([0-9]{1,2})-L\b")


@lru_cache(maxsize=4096)
def cron_in_words(expression: str) -> str:
    """The expression in a sentence; the expression itself where no sentence can be found."""
    try:
        either = service.parse_cron(expression).fields.days.either
        match = _DESCRIBED.fullmatch(_plainly(expression))
        return expression if match is None else _sentences(match.groupdict(), either=either)
    except Exception:  # noqa: BLE001 - the row may be corrupt, and the describer fails in many ways
        return expression


def _plainly(expression: str) -> str:
    """The six fields, with forms that the describer does not know written as those that it does."""
    fields = " ".join(service.split_cron(expression))
    return _ONE_VALUE.sub(r"\1", _TO_THE_LAST.sub(r"\1-31", fields))


def _sentences(fields: dict[str, str], *, either: bool) -> str:
    """One sentence, or two where a day matches by its date or by its weekday."""
    if not either:
        return _sentence(fields)
    also = _sentence(fields | {"day": "*"})
    return f"{_sentence(fields | {'weekday': '*'})}; also {also[0].lower()}{also[1:]}"


def _sentence(fields: dict[str, str]) -> str:
    options = Options()
    options.use_24hour_time_format = True
    options.casing_type = CasingTypeEnum.Sentence
    texts = list(fields.values())
    words = str(ExpressionDescriptor(" ".join(texts[texts[0] == "0" :]), options).get_description())
    if (fields["second"], fields["minute"]) == ("0", "0") and re.fullmatch(_SPAN, fields["hour"]):
        words = f"Every hour, {words[0].lower()}{words[1:]}"
    return words.replace(" through ", " to ").replace(", 1 days before", ", 1 day before")
