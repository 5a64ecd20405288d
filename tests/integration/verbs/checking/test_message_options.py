"""Options of a routine's messages: what is stored, shown and remembered of them."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command

from routines_app import service
from routines_app.masks import MASK
from routines_app.models import Routine, ScheduleChange
from routines_app.verbs.run_again import retry_run

Make = Callable[..., Routine]
OPTIONS = {"priority": 4, "headers": {"tenant": "a", "api_key": "hunter2"}, "exchange": "x", "routing_key": "y"}


def stored() -> object:
    return Routine.objects.values_list("options", flat=True).get()


@pytest.mark.parametrize("nothing", [None, "", {}, {"priority": None, "headers": {}, "exchange": ""}])
def test_nothing_is_stored_as_nothing(make: Make, nothing: object) -> None:
    """So a routine without options costs no message anything."""
    make(options=nothing)
    assert stored() is None


def test_a_priority_of_zero_is_one(make: Make) -> None:
    make(options={"priority": 0})
    assert stored() == {"priority": 0}


def test_the_history_and_the_command_line_show_masks(make: Make) -> None:
    """What is stored is as it was given."""
    routine = make()
    service.update_routine(routine, options=OPTIONS)
    assert (stored(), routine.version) == (OPTIONS, 2)
    shown = OPTIONS | {"headers": {"tenant": "a", "api_key": MASK}}
    assert ScheduleChange.objects.get(kind="updated").after == {"options": shown}
    out = StringIO()
    call_command("routines", "show", "report", stdout=out)
    assert "'tenant': 'a'" in out.getvalue()
    assert "hunter2" not in out.getvalue()


def test_a_secret_in_a_refused_header_is_not_told(make: Make) -> None:
    with pytest.raises(service.InvalidValue) as caught:
        make(options={"headers": {"api_key": "hunter2", "task": 1}})
    assert "hunter2" not in str(caught.value)


def test_a_run_with_secrets_is_not_sent_another_way_by_a_retry(make: Make) -> None:
    """Whoever may change a routine could have them executed wherever an exchange leads."""
    routine = make()
    run = service.run_now(routine, kwargs={"password": "hunter2"})
    service.cancel_run(run)
    retry_run(run, idempotency_key="before")
    for options in ({"exchange": "mine", "routing_key": "x"}, None):
        service.update_routine(routine, options=options)
        with pytest.raises(service.NotAllowed, match="another way for its messages than its routine"):
            retry_run(run, idempotency_key="after")
