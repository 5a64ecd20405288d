"""The charts are pure: values in, markup out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from routines_app.admin.charts import (
    COUNTS,
    Band,
    Bar,
    Change,
    Column,
    Point,
    Stack,
    Step,
    TimelineSpan,
    bands,
    column_chart,
    meter,
    pace,
    scatter,
    sparkline,
    stacks,
    timeline,
)
from routines_app.admin.charts.amounts import count_in_short, round_up, round_up_seconds, seconds_in_short
from routines_app.admin.charts.axes import LengthAxis, TimeAxis
from routines_app.admin.charts.widths import SLIM, WIDE

START = datetime(2027, 3, 1, 8, 0, tzinfo=UTC)
END = START + timedelta(hours=6)


def span(key: str, minute: int, length: int = 5, outcome: str = "SUCCESS", **more: str) -> TimelineSpan:
    begin = START + timedelta(minutes=minute)
    return TimelineSpan(key=key, outcome=outcome, start=begin, end=begin + timedelta(minutes=length), label=key, **more)


def drawn(markup: str) -> ElementTree.Element:
    """The chart as a tree: charts are well-formed, or this fails."""
    return ElementTree.fromstring(markup)


def test_a_sparkline_draws_one_bar_per_slot_in_the_colour_of_its_outcome() -> None:
    """Each outcome is one path with a bar for each of its slots."""
    tree = drawn(
        sparkline([Bar(outcome="SUCCESS", seconds=1), Bar(outcome="SUCCESS", seconds=2), Bar(outcome="FAILED")])
    )
    bars = {path.get("class"): path.get("d", "").count("M") for path in tree.findall("path")}
    assert bars["rt-success"] == 2
    assert bars["rt-failed"] == 1


def test_a_sparkline_shows_the_newest_thirty_slots() -> None:
    """Older slots are left out of the picture and of its description."""
    tree = drawn(sparkline([Bar(outcome="FAILED")] * 5 + [Bar(outcome="SUCCESS", seconds=1)] * 30))
    assert tree.get("aria-label") == "Last 30 slots: 30 success; median 1 s"


def test_the_longest_run_fills_the_height_of_the_sparkline() -> None:
    """Height is duration: the longest bar has the full 24 pixels, a quarter of it half of what is above the least."""
    path = drawn(sparkline([Bar(outcome="SUCCESS", seconds=1), Bar(outcome="SUCCESS", seconds=4)])).findall("path")[1]
    assert "v-24.0" in path.get("d", "")
    assert "v-13.5" in path.get("d", "")


def test_a_sparkline_marks_the_slots_that_needed_retries() -> None:
    """At their foot, and above it their outcome can still be seen."""
    tree = drawn(sparkline([Bar(outcome="SUCCESS"), Bar(outcome="SUCCESS", attempts=3)]))
    paths = {path.get("class"): path.get("d", "") for path in tree.findall("path")}
    assert paths["rt-retried"].count("M") == 1
    assert "v-6.0" in paths["rt-success"]
    assert tree.get("aria-label") == "Last 2 slots: 2 success; 1 needed retries"


def test_a_sparkline_without_runs_says_so() -> None:
    """A routine that never ran has an empty picture with words."""
    assert drawn(sparkline([])).get("aria-label") == "No runs yet"


def test_runs_that_overlap_get_lanes_of_their_own() -> None:
    """Two bars at one time are drawn beneath each other, a later one returns to the first lane."""
    tree = drawn(timeline([span("a", 0, 30), span("b", 10, 30), span("c", 60)], start=START, end=END, zone=UTC))
    tops = [rect.get("y") for rect in tree.iter("rect")]
    assert tops[0] == tops[2] != tops[1]


def test_a_retry_is_linked_to_the_attempt_before_it() -> None:
    """One curve joins the failed attempt and its retry."""
    spans = [span("a", 0, outcome="FAILED"), span("b", 20, retry_of="a")]
    tree = drawn(timeline(spans, start=START, end=END, zone=UTC))
    assert [path.get("class") for path in tree.iter("path")].count("rt-link") == 1


def test_a_skip_is_a_mark_and_not_a_bar() -> None:
    """A run without a body is a diamond at its slot."""
    tree = drawn(timeline([span("a", 5, length=0, outcome="SKIPPED")], start=START, end=END, zone=UTC))
    assert not list(tree.iter("rect"))
    assert "rt-mark rt-skipped" in [path.get("class") for path in tree.iter("path")]


def test_a_bar_leads_to_its_run() -> None:
    """The address of a run stands around its bar."""
    tree = drawn(timeline([span("a", 5, href="/runs/a/")], start=START, end=END, zone=UTC))
    assert [link.get("href") for link in tree.iter("a")] == ["/runs/a/"]


def test_labels_are_escaped() -> None:
    """A routine's error text cannot break out of the picture."""
    markup = timeline([span("<script>", 5)], start=START, end=END, zone=UTC)
    assert "<script>" not in markup
    assert drawn(markup).find(".//rect/title").text == "<script>"  # type: ignore[union-attr]


def test_no_chart_needs_an_inline_style() -> None:
    """A strict Content-Security-Policy forbids style attributes."""
    point = Point(at=START, seconds=3, outcome="SUCCESS", label="x")
    charts = [
        sparkline([Bar(outcome="SUCCESS", seconds=1)]),
        timeline([span("a", 1)], start=START, end=END, zone=UTC),
        scatter([point], start=START, end=END, zone=UTC, label="Duration"),
        column_chart([Column(amount=3, label="3")], label="Fires", unit=COUNTS),
        meter(1, 2, label="half"),
        pace([step(0), step(1)], [Change(at=START, label="x")], zone=UTC) or "",
    ]
    assert not any("style=" in one for one in charts)


def test_a_scatter_draws_the_limit_only_when_it_is_in_sight() -> None:
    """A time-out far above every run would flatten the picture, so it is left out."""
    point = Point(at=START, seconds=50, outcome="SUCCESS", label="x")
    near = scatter([point], start=START, end=END, zone=UTC, label="Duration", limit=55)
    far = scatter([point], start=START, end=END, zone=UTC, label="Duration", limit=500)
    assert "rt-limit" in near
    assert "rt-limit" not in far


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (3, "3"),
        (150, "150"),
        (999.7, "1k"),
        (6000, "6k"),
        (1500, "1.5k"),
        (1_500_000, "1.5M"),
        (6_000_000, "6M"),
        (123_456, "123k"),
        (2e9, "2G"),
        (2e12, "2,000G"),
    ],
)
def test_counts_on_an_axis_can_be_read(amount: float, said: str) -> None:
    """`6k`, and never `6e+03`."""
    assert count_in_short(amount) == said


@pytest.mark.parametrize(
    ("seconds", "said", "highest"),
    [
        (0, "0", 1),
        (0.005, "5 ms", 0.006),
        (0.5, "500 ms", 0.6),
        (1.5, "1.5 s", 2),
        (41, "41 s", 60),
        (60, "1 min", 60),
        (130, "2.17 min", 240),
        (6000, "1.67 h", 7200),
        (5400, "1.5 h", 7200),
        (86_400, "1 d", 86_400),
        (200_000, "2.31 d", 345_600),
        (40_000_000, "1.27 y", 63_072_000),
    ],
)
def test_lengths_of_time_on_an_axis_can_be_read(seconds: float, said: str, highest: float) -> None:
    """In one unit; and an axis ends with a length that people name, such as two hours for 6,000 seconds."""
    assert seconds_in_short(seconds) == said
    assert round_up_seconds(seconds) == pytest.approx(highest)


def stack(minute: int, **parts: int) -> Stack:
    begin = START + timedelta(minutes=minute)
    found = list(parts.items())
    return Stack(begin=begin, end=begin + timedelta(minutes=6), parts=found, label=f"at {minute}", href="/runs/?from=x")


def test_a_stack_shows_one_failure_among_thousands() -> None:
    """Each kind has its part, however few there are, and the column tells its numbers and leads to its runs."""
    tree = drawn(stacks([stack(0, success=5000, failed=1), stack(6)], start=START, end=END, zone=UTC, width=WIDE))
    heights = {rect.get("class"): float(rect.get("height", 0)) for rect in tree.iter("rect")}
    assert heights["rt-failed"] >= 1.5
    assert heights["rt-success"] > 90
    assert [link.get("href") for link in tree.iter("a")] == ["/runs/?from=x"]
    assert [title.text for title in tree.iter("title")][1:] == ["at 0"]
    assert "6k" in [text.text for text in tree.iter("text")]


def test_a_slim_picture_names_fewer_times() -> None:
    """On a telephone there is room for four of them, and all columns are within it."""
    tree = drawn(stacks([stack(354, success=1)], start=START, end=END, zone=UTC, width=SLIM))
    times = [text.text for text in tree.iter("text") if ":" in (text.text or "")]
    assert 2 <= len(times) <= 4
    assert all(float(rect.get("x", 0)) + float(rect.get("width", 0)) <= 400 for rect in tree.iter("rect"))


def test_a_band_reaches_what_95_per_cent_stay_within() -> None:
    """The bar ends at the high one and is marked at the middle one."""
    one = Band(begin=START, end=START + timedelta(minutes=6), middle=1, high=1.9, label="x")
    tree = drawn(bands([one], start=START, end=END, zone=UTC, label="Duration", limit=2.0))
    tops = {rect.get("class"): float(rect.get("y", 0)) for rect in tree.iter("rect")}
    assert tops["rt-band-high"] < tops["rt-band-middle"]
    assert "rt-limit" in [path.get("class") for path in tree.iter("path")]


def test_ticks_stand_on_round_local_times() -> None:
    """In a zone that is half an hour off, the labels are still whole hours."""
    axis = TimeAxis(start=START, end=END, left=0, right=600, zone=ZoneInfo("Asia/Kolkata"))
    labels = [label for _, label in axis.ticks()]
    assert labels == ["14:00", "15:00", "16:00", "17:00", "18:00", "19:00"]


@pytest.mark.parametrize(("amount", "highest"), [(0, 1), (0.3, 0.4), (1, 1), (7, 10), (59, 60), (1001, 2000)])
def test_an_amount_axis_ends_on_a_round_number(amount: float, highest: float) -> None:
    """The highest tick is at least the largest amount, and readable."""
    assert round_up(amount) == pytest.approx(highest)


@pytest.mark.parametrize(("done", "total", "width"), [(1, 2, "100"), (5, 2, "200"), (1, 0, "0")])
def test_a_meter_never_leaves_its_track(done: int, total: int, width: str) -> None:
    """More than everything is everything, and a part of nothing is nothing."""
    assert drawn(meter(done, total, label="x")).findall("rect")[1].get("width") == width


def step(number: int, seconds: float = 600, kind: str = "baseline", **more: str) -> Step:
    begin = START + timedelta(minutes=number)
    return Step(start=begin, end=begin + timedelta(minutes=1), seconds=seconds, kind=kind, label=f"{number}", **more)


def test_a_pace_is_drawn_by_what_chose_each_slot() -> None:
    """A step for each distance, coloured by its source, longer ones higher; the words say the same."""
    tree = drawn(pace([step(0), step(1, 60, "hint"), step(2, 1200, "back-off")], [], zone=UTC) or "")
    steps = [path for path in tree.iter("path") if "rt-step" in (path.get("class") or "")]
    assert [path.get("class") for path in steps] == [
        f"rt-step rt-by-{kind}" for kind in ("baseline", "hint", "back-off")
    ]
    heights = [float((path.get("d") or "").split("H")[0].split()[1]) for path in steps]
    assert heights[2] < heights[0] < heights[1]
    says = tree.find("desc")
    assert says is not None
    assert says.text == "between 1m and 20m; 1 baseline, 1 hint, 1 back-off; 0 changes of the schedule"


def test_a_change_is_a_flag_with_who_and_why() -> None:
    """Escaped, and only inside what is drawn: the change before the first slot explains nothing that can be seen."""
    old = Change(at=START - timedelta(hours=1), label="old")
    new = Change(at=START + timedelta(minutes=1), label="Hinted · by <ada>")
    tree = drawn(pace([step(0), step(1)], [old, new], zone=UTC) or "")
    assert [group.find("title").text for group in tree.iter("g")] == ["Hinted · by <ada>"]  # type: ignore[union-attr]


def test_two_slots_are_no_path() -> None:
    """One distance says nothing about how it changed."""
    assert pace([step(0)], [], zone=UTC) is None
    assert pace([], [], zone=UTC) is None


@pytest.mark.parametrize("lengths", [[600.0], [0.001, 1e12], [1.0, 86_400.0], [5.0, 5.0]])
def test_a_length_axis_takes_any_length_and_names_a_few(lengths: list[float]) -> None:
    """Whatever the ledger holds stays inside the picture, and labels stay apart."""
    axis = LengthAxis.covering(lengths, top=0, bottom=100)
    assert all(0 <= axis.y(seconds) <= 100 for seconds in lengths)
    labels = [part for part in axis.drawn(0, 10) if part.startswith("<text")]
    assert 2 <= len(labels) <= 5
