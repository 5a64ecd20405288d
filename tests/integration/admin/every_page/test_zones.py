"""Times that are typed and told name their timezone."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from django.test import Client
from django.utils import timezone

from routines_app.models import Routine
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine
from tests.integration.admin.pages import last_entry, told, verb_url
from tests.integration.admin.test_form import change_url

PARIS = "Europe/Paris"


def test_forms_name_the_timezone_in_which_they_read_times(operator: Client) -> None:
    """It may differ from one request to the next, where a project lets people choose."""
    routine = make_routine()
    for zone in (PARIS, "Asia/Tokyo"):
        with timezone.override(zone):
            for address in (verb_url(routine, "pause"), change_url(routine)):
                assert f"Times are in {zone}." in operator.get(address).content.decode()


def test_a_verb_tells_the_time_as_it_was_typed(operator: Client) -> None:
    """With its zone, in the message and, in English, in the history."""
    routine = make_routine()
    with timezone.override(PARIS):
        response = operator.post(verb_url(routine, "pause"), {"until": "2030-07-01T18:00:00"}, follow=True)
    assert told(response) == ["Paused nightly-report until Mon 1 Jul 2030, 18:00:00 CEST."]
    assert last_entry().change_message == "Paused nightly-report until 2030-07-01 18:00:00 CEST."
    assert Routine.objects.values_list("paused_until__hour").get() == (16,)


def test_a_hinted_time_is_told_as_it_was_typed(operator: Client) -> None:
    """The same for the time of a hint."""
    routine = make_routine(interval_ms=86_400_000)
    at = timezone.localtime(clock.now() + timedelta(minutes=10), ZoneInfo(PARIS))
    with timezone.override(PARIS):
        operator.post(verb_url(routine, "hint-time"), {"at": f"{at:%Y-%m-%dT%H:%M:%S}", "ttl": "1h"})
    assert last_entry().change_message.endswith(f"{at:%Y-%m-%d %H:%M:%S} {at.tzname()}.")
