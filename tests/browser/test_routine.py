"""The page of a routine and its form in a browser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from routines_app.models import Routine, RoutineRun, RoutineState
from routines_app.protocol.ledger import clock
from tests.browser.scenes import ended, make_routine, make_run_with_retry

Open = Callable[..., Page]
MakeUser = Callable[..., User]


def overview(routine: Routine) -> str:
    return reverse("admin:routines_routine_overview", args=[routine.pk])


def test_run_now_is_one_click(open_page: Open, make_user: MakeUser) -> None:
    """The page of the run comes, and the run is in the routine's ledger."""
    routine = make_routine("alpha")
    page = open_page(make_user(), overview(routine))
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".messagelist")).to_contain_text("Asked for a run of alpha")
    run = RoutineRun.objects.get()
    expect(page.locator("main code", has_text=str(run.pk))).to_be_visible()
    assert run.requested_by == "ada"
    page.goto(overview(routine))
    expect(page.get_by_role("region", name="Ledger")).to_contain_text("Manual")


def test_run_with_other_arguments(open_page: Open, make_user: MakeUser) -> None:
    """The form is filled with the routine's own arguments."""
    routine = make_routine("alpha", kwargs={"limit": 1})
    page = open_page(make_user(), overview(routine))
    page.get_by_role("link", name="Run with …").click()
    box = page.get_by_label("Named arguments")
    box.fill(box.input_value().replace("1", "9"))
    page.get_by_role("button", name="Run now").click()
    expect(page.locator(".messagelist")).to_contain_text("Asked for a run")
    assert RoutineRun.objects.get().kwargs == {"limit": 9}


def test_pause_and_resume_on_the_page(open_page: Open, make_user: MakeUser) -> None:
    """The pill and the buttons follow the state."""
    routine = make_routine("alpha")
    page = open_page(make_user(), overview(routine))
    page.get_by_role("link", name="Pause").click()
    page.get_by_label("Why").fill("stocktaking")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", name="alpha Paused")).to_be_visible()
    expect(page.get_by_text("stocktaking").first).to_be_visible()
    page.get_by_role("link", name="Resume").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("heading", name="alpha Active")).to_be_visible()


def test_hints_are_given_and_cleared(open_page: Open, make_user: MakeUser) -> None:
    """A hint shows on the page with its end and reason, and goes away."""
    routine = make_routine("alpha", interval_ms=3_600_000)
    page = open_page(make_user(), overview(routine))
    page.get_by_role("link", name="Hint an interval").click()
    page.get_by_label("Interval").fill("5m")
    page.get_by_label("Why").fill("sale today")
    page.get_by_role("button", name="Hint an interval").click()
    expect(page.locator(".rt-card", has_text="Hints")).to_contain_text("sale today")
    assert RoutineState.objects.get().next_source == "hint-interval"
    page.get_by_role("link", name="Clear hints").click()
    page.get_by_role("button", name="Clear hints").click()
    expect(page.get_by_text("No hint is in force.")).to_be_visible()


def test_a_bar_of_the_timeline_leads_to_its_run(open_page: Open, make_user: MakeUser) -> None:
    """The gantt is a map: click a bar, be at its run."""
    routine = make_routine("alpha")
    make_run_with_retry(routine, clock.now() - timedelta(minutes=30))
    page = open_page(make_user(), overview(routine) + "?window=1h")
    expect(page.locator(".rt-timeline.rt-wide .rt-link")).to_have_count(2)
    page.locator(".rt-timeline.rt-wide a").first.click()
    expect(page.get_by_text("ConnectionError: shop did not answer")).to_be_visible()


def test_the_window_is_chosen_by_a_click(open_page: Open, make_user: MakeUser) -> None:
    """From a day to an hour."""
    routine = make_routine("alpha")
    ended(routine, clock.now() - timedelta(hours=3))
    page = open_page(make_user(), overview(routine))
    expect(page.locator(".rt-timeline.rt-wide .rt-bar")).to_have_count(1)
    page.get_by_role("link", name="1h", exact=True).click()
    expect(page.get_by_text("No runs in this window").last).to_be_attached()


def test_the_form_shows_only_what_the_trigger_needs(open_page: Open, make_user: MakeUser) -> None:
    """Cron, interval, one moment or none of them."""
    page = open_page(make_user(), reverse("admin:routines_routine_add"))
    cron, every = page.get_by_label("Cron:"), page.get_by_label("Every:")
    page.get_by_label("Trigger kind:").select_option("CRON")
    expect(cron).to_be_visible()
    expect(every).to_be_hidden()
    page.get_by_label("Trigger kind:").select_option("INTERVAL")
    expect(every).to_be_visible()
    expect(cron).to_be_hidden()
    page.get_by_label("Trigger kind:").select_option("ONCE")
    once = page.get_by_label("At:", exact=True)
    expect(once).to_be_visible()
    expect(every).to_be_hidden()
    page.get_by_label("Trigger kind:").select_option("MANUAL")
    expect(once).to_be_hidden()
    expect(page.get_by_label("Starts:")).to_be_hidden()


def test_the_preview_follows_the_typing(open_page: Open, make_user: MakeUser) -> None:
    """Words, fires in both zones and errors, without saving."""
    page = open_page(make_user(), reverse("admin:routines_routine_add"))
    page.reload()  # the first page has told where the browser is
    page.get_by_label("Trigger kind:").select_option("CRON")
    page.get_by_label("Timezone:").fill("Europe/Paris")
    page.get_by_label("Cron:").fill("0 9 * *")
    expect(page.locator(".field-cron .rt-typing-error")).to_contain_text("5 fields")
    page.get_by_label("Cron:").press_sequentially(" 1-5")
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("At 09:00, Monday to Friday, Europe/Paris")
    expect(preview).to_contain_text("America/New_York")
    expect(preview.get_by_role("row")).to_have_count(11)
    expect(page.locator(".field-cron .rt-typing-error")).to_have_count(0)


def test_a_moment_is_picked_and_previewed(open_page: Open, make_user: MakeUser) -> None:
    """The picker is in the timezone of the admin, the words in the routine's."""
    page = open_page(make_user(), reverse("admin:routines_routine_add"))
    page.get_by_label("Name:").fill("alpha")
    page.get_by_label("Task:", exact=True).select_option("tests.acceptance.tasks.note")
    page.get_by_label("Trigger kind:").select_option("ONCE")
    page.get_by_label("Timezone:").fill("Europe/Paris")
    page.get_by_label("At:", exact=True).fill("2100-03-12T02:00:00")
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("Once, on 12 Mar 2100 at 03:00, Europe/Paris")
    expect(preview.get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="alpha Active")).to_be_visible()
    assert RoutineState.objects.get().next_slot == datetime(2100, 3, 12, 2, tzinfo=UTC)


def test_the_preview_warns_and_compares(open_page: Open, make_user: MakeUser) -> None:
    """A step schedule fires twice in the repeated hour; the saved version fired once a day."""
    routine = make_routine("alpha", cron="0 9 * * *", timezone="Europe/Berlin")
    page = open_page(make_user(), reverse("admin:routines_routine_change", args=[routine.pk]))
    page.get_by_label("Cron:").fill("*/30 0-6 * * *")
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("Fires 4 times instead of 2 on")
    expect(preview).to_contain_text("Against the saved version")
    expect(preview).to_contain_text("98 fires instead of 7")


def test_a_routine_is_added_and_changed(open_page: Open, make_user: MakeUser) -> None:
    """From an empty form to the page of the new routine, then an error at its field, then saved."""
    page = open_page(make_user(), reverse("admin:routines_routine_add"))
    page.get_by_label("Name:").fill("alpha")
    page.get_by_label("Task:", exact=True).select_option("tests.acceptance.tasks.note")
    page.get_by_label("Trigger kind:").select_option("INTERVAL")
    page.get_by_label("Every:").fill("10m")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="alpha Active")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Time-out:").fill("3d")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".field-timeout_ms .errorlist")).to_contain_text("1d")
    page.get_by_label("Time-out:").fill("20m")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Saved alpha")
    assert Routine.objects.values_list("interval_ms", "timeout_ms").get() == (600_000, 1_200_000)


def test_a_pool_is_found_by_typing(open_page: Open, make_user: MakeUser) -> None:
    """Autocomplete works under the strict policy too."""
    from routines_app.models import Pool

    Pool.objects.create(name="warehouse", max_concurrent=2)
    routine = make_routine("alpha")
    page = open_page(make_user(), reverse("admin:routines_routine_change", args=[routine.pk]))
    page.locator(".field-pool .select2-selection").click()
    page.locator(".select2-search__field").fill("ware")
    page.get_by_role("option", name="warehouse (2)").click()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("Saved alpha")
    assert Routine.objects.get().pool is not None
