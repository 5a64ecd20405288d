"""The views for a project's own pages, sent what cannot be: an answer that says so, never a crash."""

from __future__ import annotations

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from routines_app.models import Routine
from tests.browser.scenes import make_routine
from tests.integration.fuzzing import ANSWERS, VALUES, Pairs, asked, fuzzed, pairs, path_part, posted, undone

POSTED = ["idempotency_key", "reason", "until", "release", "next", "requested_by", "csrfmiddlewaretoken"]
KINDS = ["multipart/form-data; boundary=x", "application/json", "text/plain", "application/x-www-form-urlencoded"]
KINDS += ["application/x-www-form-urlencoded; charset=utf-16", "application/x-www-form-urlencoded; charset=nonsense"]
VERBS = st.sampled_from(["run", "pause", "resume"])

pytestmark = pytest.mark.usefixtures("redis_url", "measured_clock")


@pytest.fixture(autouse=True)
def own_urls(settings: Settings) -> None:
    settings.ROOT_URLCONF = "tests.browser.urls"


@pytest.fixture
def routine(db: None) -> Routine:
    return make_routine()


@fuzzed(20)
@given(verb=VERBS, values=pairs(POSTED), paused=st.booleans())
def test_every_verb(operator: Client, routine: Routine, verb: str, values: Pairs, paused: bool) -> None:
    """Of a routine that is paused or active."""
    Routine.objects.update(status="PAUSED" if paused else "ACTIVE")
    posted(operator, f"/routines/{routine.pk}/{verb}/", values)


@fuzzed(15)
@given(verb=VERBS, body=VALUES | st.binary(max_size=200), kind=st.sampled_from(KINDS))
def test_bodies_that_are_no_forms(operator: Client, routine: Routine, verb: str, body: bytes, kind: str) -> None:
    """A form of another kind, or none at all."""
    with undone():
        answer = operator.generic("POST", f"/routines/{routine.pk}/{verb}/", data=body, content_type=kind)
    assert answer.status_code in ANSWERS


@fuzzed(10)
@given(values=pairs(["limit", "next"]))
def test_the_newest_runs(operator: Client, routine: Routine, values: Pairs) -> None:
    """With any limit."""
    asked(operator, f"/routines/{routine.pk}/runs/", values)


@fuzzed(10)
@given(verb=st.sampled_from(["run", "runs"]), value=VALUES)
def test_addresses(operator: Client, routine: Routine, verb: str, value: bytes) -> None:
    """What nobody has is not found."""
    address = f"/routines/{path_part(value[:8_000])}/{verb}/"
    asked(operator, address, [])
    posted(operator, address, [])
