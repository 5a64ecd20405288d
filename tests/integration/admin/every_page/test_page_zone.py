"""Each page shows its times in one named zone, which the viewer chooses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from routines_app import service
from routines_app.admin.page_zone import in_page_zone
from routines_app.models import Routine, RoutineRun
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine
from tests.integration.admin.pages import overview_url, press, run_url, text_of, verb_url
from tests.integration.admin.test_preview import preview

KOLKATA, APIA = "Asia/Kolkata", "Pacific/Apia"  # half an hour and more than half a day from UTC
CHOICES = {"viewer": KOLKATA, "routine": APIA, "utc": "UTC"}


@pytest.fixture
def run() -> RoutineRun:
    """Of a routine that lives in Apia; it started this second."""
    return ended(make_routine(timezone=APIA), clock.now(), seconds=0.011)


@pytest.fixture
def viewer(operator: Client) -> Client:
    """Somebody whose browser is in Kolkata."""
    operator.cookies["routines_viewer_zone"] = KOLKATA
    return operator


def pages_of(run: RoutineRun) -> Iterator[tuple[str, bool]]:
    """Pages with times, and whether they are about one routine."""
    yield from ((address, True) for address in (overview_url(run.routine), run_url(run)))
    yield from ((reverse(f"admin:routines_{name}"), False) for name in ("routinerun_changelist", "plan", "fleet"))
    yield reverse("admin:routines_routine_changelist"), False


def local(at: datetime | None, zone: str) -> str:
    assert at is not None
    return f"{at.astimezone(ZoneInfo(zone)):%H:%M:%S}"


@pytest.mark.parametrize("choice", CHOICES)
def test_every_page_is_in_the_zone_that_was_chosen(viewer: Client, run: RoutineRun, choice: str) -> None:
    """And names it; on a page that is about no routine, the routine's zone is the viewer's."""
    assert viewer.post(reverse("admin:routines_zone"), {"zone": choice, "next": run_url(run)}).url == run_url(run)  # type: ignore[attr-defined]
    for address, of_a_routine in pages_of(run):
        page, zone = text_of(viewer, address), CHOICES[choice if of_a_routine or choice != "routine" else "viewer"]
        assert f"Times are in <strong>{zone}" in page, address
        assert (">The routine&#x27;s</button>" in page) == of_a_routine
    assert f"· {local(run.started_at, CHOICES[choice])}." in text_of(viewer, run_url(run))
    assert f"{local(run.scheduled_for, CHOICES[choice])} ·" in text_of(viewer, overview_url(run.routine))  # a chart's


@pytest.mark.parametrize("choice", CHOICES)
def test_a_fragment_agrees_with_its_page(viewer: Client, run: RoutineRun, choice: str) -> None:
    """By the cookie, and by the header of the page that fetches it where the choice has changed since."""
    viewer.cookies["routines_zone"] = choice
    assert f"· {local(run.started_at, CHOICES[choice])}." in text_of(viewer, run_url(run, "live"))
    brought = viewer.get(run_url(run, "live"), headers={"X-Routines-Zone": "Asia/Tokyo"}).content.decode()
    assert f"· {local(run.started_at, 'Asia/Tokyo')}." in brought


@pytest.mark.parametrize("bad", ["", "Mars/Olympus", "../../etc/passwd", "localtime", "x" * 500, "Ünï", "UTC\x00"])
def test_what_is_no_zone_is_passed_over(operator: Client, run: RoutineRun, bad: str) -> None:
    """A cookie, a header and a field are anybody's text."""
    operator.cookies["routines_zone"] = operator.cookies["routines_viewer_zone"] = bad
    page = operator.get(run_url(run), {"page_zone": bad}).content.decode()
    assert "Times are in <strong>UTC</strong>" in page
    operator.post(reverse("admin:routines_zone"), {"zone": bad, "next": "https://elsewhere.example/"})
    assert operator.cookies["routines_zone"].value == bad


def test_a_routine_whose_zone_is_none_is_shown_in_the_viewers(viewer: Client, run: RoutineRun) -> None:
    """Plain SQL can store anything."""
    viewer.cookies["routines_zone"] = "routine"
    Routine.objects.update(timezone="Nowhere/Land")
    assert f"Times are in <strong>{KOLKATA}" in text_of(viewer, run_url(run))


def test_the_way_back_leads_to_no_other_site(viewer: Client) -> None:
    """The address of the page is a field of the form."""
    answer = viewer.post(reverse("admin:routines_zone"), {"zone": "utc", "next": "https://elsewhere.example/"})
    assert answer["Location"] == reverse("admin:routines_routine_changelist")
    assert viewer.get(reverse("admin:routines_zone")).status_code == 405


def test_a_typed_time_means_what_the_page_said(viewer: Client) -> None:
    """The form carries the zone that it was shown in, though another one is chosen before it is sent."""
    routine = make_routine()
    shown = viewer.get(verb_url(routine, "pause")).content.decode()
    assert f"Times are in {KOLKATA}." in shown
    viewer.cookies["routines_zone"] = "utc"
    typed = {"until": "2030-07-01T18:00:00", "page_zone": KOLKATA}
    assert 'name="page_zone" value="Asia/Kolkata"' in shown
    viewer.post(verb_url(routine, "pause"), typed)
    assert Routine.objects.values_list("paused_until", flat=True).get() == datetime(2030, 7, 1, 12, 30, tzinfo=UTC)


def test_a_form_in_another_zone_changes_no_time_that_nobody_typed(viewer: Client) -> None:
    """What the picker shows in Kolkata is the stored time, to the microsecond."""
    stored = clock.now() + timedelta(days=300)
    routine = make_routine(start_at=stored)
    press(viewer, reverse("admin:routines_routine_change", args=[routine.pk]))
    assert Routine.objects.values_list("start_at", flat=True).get() == stored


def test_no_zone_is_left_behind() -> None:
    """The next request of this thread is somebody else's, perhaps of another app."""
    seen: list[str] = []

    def view(request: object) -> HttpResponse:
        seen.append(timezone.get_current_timezone_name())
        return TemplateResponse(request, "routines/button.html")  # type: ignore[arg-type]

    response = in_page_zone(view)(RequestFactory().get("/", {"page_zone": KOLKATA}))
    assert (seen, timezone.get_current_timezone_name()) == ([KOLKATA], "UTC")
    response.resolve_context = lambda _: seen.append(timezone.get_current_timezone_name()) or {}  # type: ignore[attr-defined, func-returns-value]
    response.render()  # type: ignore[attr-defined]
    assert (seen, timezone.get_current_timezone_name()) == ([KOLKATA, KOLKATA], "UTC")
    assert "render" not in vars(response)


def test_far_away_times_show_their_year(operator: Client) -> None:
    """In the coming fires and in the preview; what is of this day shows no date."""
    now = clock.now()
    leap = next(year for year in range(now.year + 1, now.year + 9) if year % 4 == 0)
    routine = service.create_routine(
        "leap day", task="no.such.task", cron="0 0 29 2 *", allow_unknown_task=True, start_at=now + timedelta(days=366)
    )
    assert f"· 29 Feb {leap}, 00:00:00</span>" in text_of(operator, overview_url(routine))
    assert f"29 Feb {leap}, 00:00</td>" in preview(operator, cron="0 0 29 2 *", timezone="UTC")["text"]
