"""What pages say of schedules, times and numbers can be said in other languages: with other words, in another order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation
from django.utils.translation import trans_real

from routines_app.admin import cron_phrases, phrases
from routines_app.admin.charts import Bar
from routines_app.admin.charts.amounts import count_in_short, seconds_in_short
from routines_app.admin.charts.sparkline import describe
from routines_app.admin.code_words import VERDICTS, code_in_words, status_label
from routines_app.admin.daylight import daylight_warnings
from routines_app.core.triggers import CronTrigger
from routines_app.service import Verdict

NOW = datetime(2027, 10, 25, 0, 30, tzinfo=UTC)
SMALL = "yes, if words within a sentence begin with a small letter; else no"
WORDS = {
    "At {times}": "Um {times}",
    "{others} and {last}": "{others} und {last}",
    "{others} or {last}": "{others} oder {last}",
    "{first} to {last}": "{first} bis {last}",
    "between {first} and {last}": "zwischen {first} und {last}",
    "{dates}, but only if it is {days}": "{dates}, aber nur wenn es {days} ist",
    "Once, on {date} at {time}, {zone}": "Einmal am {date} um {time}, {zone}",
    "in {amount}": "in {amount}",
    "{amount} ago": "vor {amount}",
    "On {day} {time} comes twice; it fires the first time only.": "{time} kommt am {day} zweimal, es läuft nur einmal.",
    "{times} times slower": "{times}-mal langsamer",
}
IN_PLACES = {
    "on which days": {
        "on {days}": "{days}",
        "the {day}": "am {day}",
        "the {first} to {last}": "vom {first} bis zum {last}",
        "the {first}, {second}, {third} … {last}": "am {first}, {second}, {third} … {last}",
        "the {nth} day before the month's last": "am {nth} Tag vor dem Monatsletzten",
        "the last {weekday} of the month": "am letzten {weekday} des Monats",
        "every {weekdays}": "jeden {weekdays}",
        "{first} to {last}": "von {first} bis {last}",
    },
    "if it is": {"a {weekday}": "ein {weekday}", "the last {weekday} of the month": "der letzte {weekday} des Monats"},
    "day of the month": {"1st": "1.", "{day}st": "{day}.", "{day}rd": "{day}.", "{day}th": "{day}."},
    "which of several": {"{number}rd": "{number}."},
    "months": {"in {months}": "im {months}", "from {first} to {last}": "von {first} bis {last}"},
    "date format": {"D j M Y": "D, j. M Y", "j M Y": "j. M Y", "j M": "j. M", "j F Y": "j. F Y"},
    SMALL: {"yes": "no"},
}
MANY = {
    ("years, in short\x04{count} y", "{count} y"): ("{count} J.", "{count} J."),
    ("Every minute", "Every {count} minutes"): ("Jede Minute", "Alle {count} Minuten"),
    ("in hour {hours}", "in hours {hours}"): ("in Stunde {hours}", "in den Stunden {hours}"),
    ("At minute {minutes}", "At minutes {minutes}"): ("In Minute {minutes}", "In den Minuten {minutes}"),
    ("Last slot: {outcomes}", "Last {count} slots: {outcomes}"): (
        "Letzter Termin: {outcomes}",
        "Letzte {count} Termine: {outcomes}",
    ),
    ("{number} success", "{number} success"): ("{number} Erfolg", "{number} Erfolge"),
}


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """German, of which these messages are known here whatever the catalog says."""
    known = trans_real.translation("de")._catalog._catalogs[0]  # type: ignore[attr-defined]
    for message, words in WORDS.items():
        monkeypatch.setitem(known, message, words)
    for place, messages in IN_PLACES.items():
        for message, words in messages.items():
            monkeypatch.setitem(known, f"{place}\x04{message}", words)
    for (one, _many), forms in MANY.items():
        for place, words in enumerate(forms):
            monkeypatch.setitem(known, (one, place), words)
    cron_phrases._in_language.cache_clear()
    with translation.override("de"):
        yield
    cron_phrases._in_language.cache_clear()


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("0 0 13 * FRI", "Um 00:00, am 13. und jeden Freitag"),
        ("0 9 */2 * MON", "Um 09:00, am 1., 3., 5. … 31., aber nur wenn es ein Montag ist"),
        ("0 9 */2 * 5L", "Um 09:00, am 1., 3., 5. … 31., aber nur wenn es der letzte Freitag des Monats ist"),
        ("0 9 * * 5L", "Um 09:00, am letzten Freitag des Monats"),
        ("0 9 L-3 * *", "Um 09:00, am 3. Tag vor dem Monatsletzten"),
        ("0 9 25-L * *", "Um 09:00, vom 25. bis zum 31."),
        ("0 9 1 NOV-FEB *", "Um 09:00, am 1., von November bis Februar"),
        ("0 9 * 2,5 1-5", "Um 09:00, von Montag bis Freitag, im Februar und Mai"),
        ("*/10 22-4 * * *", "Alle 10 Minuten, zwischen 22:00 und 04:59"),
        ("0 9-12,14,17,20 * * *", "In Minute 0, in den Stunden 9 bis 12, 14, 17 und 20"),
    ],
)
@pytest.mark.usefixtures("german")
def test_a_cron_can_be_told_in_other_words(cron: str, words: str) -> None:
    """The same day has another word on which and if it is; an ordinal is a message, and names are Django's."""
    assert phrases.cron_in_words(cron) == words


@pytest.mark.usefixtures("german")
def test_a_kept_sentence_is_kept_for_its_language() -> None:
    """Whoever looks next may speak another one."""
    told = {}
    for language in ("en", "de", "en"):
        with translation.override(language):
            told[language] = (phrases.cron_in_words("*/5 * * * *"), phrases.clock_time(NOW))
    assert told["en"] == ("Every 5 minutes", "Mon 25 Oct 2027, 00:30:00 UTC")
    assert told["de"] == ("Alle 5 Minuten", "Mo, 25. Okt 2027, 00:30:00 UTC")


@pytest.mark.usefixtures("german")
def test_times_are_written_as_the_language_does() -> None:
    """Dates by a format that is a message; what is around them is one, too."""
    moment = datetime(2028, 3, 12, 2, tzinfo=UTC)
    once = phrases.schedule_in_words("ONCE", "", None, "Europe/Paris", moment)
    assert once == "Einmal am 12. Mär 2028 um 03:00, Europe/Paris"
    assert phrases.short_time(moment, NOW, UTC) == "12. Mär 2028, 02:00:00"
    assert phrases.short_time(NOW - timedelta(days=1), NOW, UTC) == "24. Okt, 00:30:00"
    assert phrases.ago_or_in(NOW - timedelta(days=800), NOW) == "vor 2 J."
    assert phrases.ago_or_in(NOW - timedelta(minutes=3), NOW) == "vor 3 min"
    assert phrases.schedule_in_words("INTERVAL", "", 60_000, "") == "Jede Minute"


@pytest.mark.usefixtures("german")
def test_numbers_have_the_comma_of_the_language() -> None:
    """In words as on the axes of a chart."""
    assert phrases.seconds_in_words(1.44) == "1,4 s"
    assert phrases.factor_in_words(1.5) == "1,5-mal langsamer"
    assert (seconds_in_short(5400), seconds_in_short(86_400 * 365 * 1.5)) == ("1,5 h", "1,5 J.")
    assert (count_in_short(1_500_000), count_in_short(2_345_000_000_000)) == ("1,5M", "2.345G")


@pytest.mark.usefixtures("german")
def test_counted_outcomes_have_the_form_of_their_number() -> None:
    """One success, two successes: English writes both alike here."""
    assert describe([Bar(outcome="SUCCESS")]) == "Letzter Termin: 1 Erfolg"
    assert describe([Bar(outcome="SUCCESS")] * 2) == "Letzte 2 Termine: 2 Erfolge"


@pytest.mark.usefixtures("german")
def test_a_warning_about_the_clock_has_its_own_order() -> None:
    """The day may come behind the time."""
    berlin = CronTrigger(expression="30 2 * * *", timezone=ZoneInfo("Europe/Berlin").key)
    told = daylight_warnings(berlin, NOW)
    assert "02:30 kommt am 31. Oktober 2027 zweimal, es läuft nur einmal." in told


def test_codes_have_words() -> None:
    """Those of English are small within a sentence; a code of a newer version is told as it is spelled."""
    assert (status_label("SUCCESS"), status_label("PAUSED"), status_label("hold")) == ("Success", "Paused", "Hold")
    assert (code_in_words("catch_up"), code_in_words("HIGH"), code_in_words("worker_lost")) == (
        "catch up",
        "high",
        "worker lost",
    )
    assert (status_label("BRAND_NEW"), code_in_words("brand-new")) == ("Brand new", "brand new")
    assert set(VERDICTS) == set(Verdict)


@pytest.mark.usefixtures("german")
def test_a_language_may_begin_words_with_a_large_letter() -> None:
    """Nouns in the middle of a German sentence do."""
    assert code_in_words("brand-new") == "Brand new"
