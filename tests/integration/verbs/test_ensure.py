"""The upsert: one routine, whoever calls it and how often."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connections

from routines_app import service
from routines_app.models import Routine, ScheduleChange
from routines_app.verbs import ensure
from routines_app.verbs.declare import declare_routine
from tests.integration.conftest import NOTE

Make = Callable[..., Routine]


def test_it_is_created_then_left_alone_then_changed(make: Make) -> None:
    """Nothing is written when nothing differs; only what is told is set, whoever has changed it."""
    routine, created = service.ensure_routine("nightly", task=NOTE, cron="0 3 * * *", actor="migration")
    assert (created, routine.cron) == (True, "0 3 * * *")

    again, created = service.ensure_routine("nightly", task=NOTE, cron="0 3 * * *")
    assert (created, again.pk, again.version, ScheduleChange.objects.count()) == (False, routine.pk, 1, 1)

    service.update_routine("nightly", cron="0 5 * * *", max_attempts=7, actor="ada")
    changed, created = service.ensure_routine("nightly", every="1h", reason="hourly now")
    assert (created, changed.interval_ms, changed.cron, changed.max_attempts) == (False, 3_600_000, "", 7)
    assert ScheduleChange.objects.latest("id").reason == "hourly now"


def test_no_arguments_are_no_arguments_the_second_time_too(make: Make) -> None:
    for made in (True, False):
        routine, created = service.ensure_routine("nightly", task=NOTE, every="1h", kwargs=None)
        assert (created, routine.kwargs, routine.version) == (made, {}, 1)


def test_what_is_not_its_own_is_refused(make: Make) -> None:
    """Clearly, and nothing is written."""
    with pytest.raises(service.InvalidValue, match="give the task of 'new'"):
        service.ensure_routine("new", every="1h")
    declare_routine("declared", {"task": NOTE, "every": "1h"}, "code:shop")
    with pytest.raises(service.NotAllowed, match="declared in the code of shop: change it there"):
        service.ensure_routine("declared", task=NOTE, every="2h")
    with pytest.raises(service.InvalidValue, match="did you mean max_attempts"):
        service.ensure_routine("new", task=NOTE, max_atempts=3)
    service.archive_routine(make("old"))
    with pytest.raises(service.NotAllowed, match="archived"):
        service.ensure_routine("old", every="1h")
    assert set(Routine.objects.values_list("name", "interval_ms")) == {("declared", 3_600_000), ("old", None)}


@pytest.mark.usefixtures("ledger")
def test_two_at_once_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked before either has written: the second finds the first one's, and changes it."""
    looked = threading.Barrier(2, timeout=30)
    find, first_looks, told = ensure._find, threading.local(), []

    def meet(name: str) -> Routine | None:
        found = find(name)
        if not hasattr(first_looks, "over"):
            first_looks.over = True
            looked.wait()
        return found

    def ensured() -> None:
        try:
            told.append(service.ensure_routine("nightly", task=NOTE, every="1h")[1])
        finally:
            connections.close_all()

    service.registered_tasks()
    monkeypatch.setattr(ensure, "_find", meet)
    threads = [threading.Thread(target=ensured) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False, True]
    assert (Routine.objects.count(), ScheduleChange.objects.count()) == (1, 1)
