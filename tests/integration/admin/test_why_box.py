"""The box that says why a routine ran, or did not; and what a run was blocked by."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse

from routines_app.admin.phrases import clock_time
from routines_app.core.waits import entry
from routines_app.protocol.ledger import clock
from tests.browser.scenes import make_routine, make_run
from tests.integration.admin.pages import overview_url, run_url, text_of


def test_the_box_answers_with_links(operator: Client) -> None:
    """The run that was in the way is one of them; what cannot be read as a time is said beside it."""
    routine = make_routine(concurrency_policy="FORBID")
    now = clock.now().replace(microsecond=0)
    first = make_run(routine, at=now - timedelta(minutes=1), status="RUNNING", started_at=now)
    slot = now - timedelta(seconds=30)
    done = {"status": "SKIPPED", "reason": "overlap", "completed_at": now, "blocked_by": first.pk}
    make_run(routine, at=slot, idempotency_key=f"s:{routine.pk}:{int(slot.timestamp() * 1000)}:1", **done)

    page = text_of(operator, f"{overview_url(routine)}?why={slot:%Y-%m-%dT%H:%M:%SZ}")

    assert f"run {first.pk} of the same routine was active" in page
    assert f'href="{run_url(first)}"' in page[page.index('class="rt-said"') :]
    assert "yesterday 03:00" in text_of(operator, f"{overview_url(routine)}?why=<b>noon</b>")
    assert "<b>noon" not in text_of(operator, f"{overview_url(routine)}?why=<b>noon</b>")
    assert 'class="rt-said"' not in text_of(operator, overview_url(routine))


def test_the_box_answers_in_the_language_of_whoever_asks(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of that language, and with its times; what is wrong with a time is said in it as well."""
    german = {
        "A run was asked for by {who} at {at}.": "Am {at} hat {who} einen Lauf verlangt.",
        "{field}: {value} is not accepted: {expected}": "{field}: {value} geht nicht: {expected}",
    }
    monkeypatch.setattr("routines_app.admin.translating.gettext", lambda text: german.get(text, text))
    routine, at = make_routine(timezone="Europe/Paris"), clock.now().replace(microsecond=0)
    make_run(routine, at=at, trigger="manual", requested_by="ann", idempotency_key="m:1")

    page = text_of(operator, f"{overview_url(routine)}?why={at:%Y-%m-%dT%H:%M:%SZ}")

    assert f"Am {clock_time(at, ZoneInfo('Europe/Paris'))} hat ann einen Lauf verlangt." in page
    assert "geht nicht: " in text_of(operator, f"{overview_url(routine)}?why=tomorrowish")


def test_the_page_of_a_run_shows_who_blocked_it_and_whom_it_blocked(operator: Client) -> None:
    """Both ways, and what it has waited for."""
    routine, now = make_routine(), clock.now()
    first = make_run(routine, at=now, status="RUNNING", started_at=now, waits=entry("ceiling", now))
    done = {"status": "SKIPPED", "reason": "overlap", "completed_at": now, "blocked_by": first.pk}
    second = make_run(routine, at=now, **done)
    assert f'Skipped because of <a href="{run_url(first)}">' in text_of(operator, run_url(second))
    page = text_of(operator, run_url(first))
    assert f'href="{run_url(second)}"' in page
    assert "What it waited for" in page
    assert "ceiling" in page
    assert reverse("admin:routines_routinerun_change", args=[second.pk]) in page
