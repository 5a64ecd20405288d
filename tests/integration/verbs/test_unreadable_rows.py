"""Rows that plain SQL has made unreadable: the queue, the plan of leases and their pages show the others."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from routines_app import service
from routines_app.models import Routine, RoutineRun
from tests.integration.verbs.rows import waiting_run
from tests.integration.verbs.test_plan_leases import Make, due

NO_TIME = {"postgresql": "infinity", "sqlite": "somewhen", "mysql": "0000-00-00 00:00:00"}
TIMES = {
    "routines_routinerun": ["eligible_at", "scheduled_for", "publish_after", "requested_at"],
    "routines_routinestate": ["last_success_at", "next_slot"],
    "routines_routine": ["end_at", "created_at"],
}
BROKEN = [(table, column, None) for table, columns in TIMES.items() for column in columns]
BROKEN += [("routines_routinerun", "reason", "sideways")]  # other words are held by constraints


@pytest.fixture(params=BROKEN, ids=lambda case: f"{case[0]}.{case[1]}")
def broken(request: pytest.FixtureRequest, make: Make) -> str:
    """Two routines that are due, and a run of each that waits; something of one of them is nothing that we know."""
    table, column, word = request.param
    pool = service.create_pool("db", max_concurrent=1)
    for number, name in enumerate(("good", "bad"), 1):
        routine = due(make(name, every="1h", pool="db", concurrency_policy="FORBID"))
        waiting_run(routine, number, admitted_at=None, publish_after=None, reason="ceiling", pool=pool)
    bad = Routine.objects.get(name="bad")
    if table == "routines_routinerun":
        where, key = "id", RoutineRun._meta.pk.get_db_prep_value(bad.runs.get().pk, connection)
    else:
        where, key = ("id" if table == "routines_routine" else "routine_id"), bad.pk
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("SET SESSION sql_mode = ''")
        value = word or NO_TIME[connection.vendor]
        name = connection.ops.quote_name(column)
        cursor.execute(f"UPDATE {table} SET {name} = %s WHERE {where} = %s", [value, key])
    return str(column)


def test_the_queue_and_the_plan_show_the_others(broken: str) -> None:
    """Neither fails for one row; with and without another policy that names it."""
    assert "good" in [run.name for run in (*service.queue().overrides, *service.queue().automatic)]
    for what_if in (None, {"paused": ["bad"]}, {"schedules": {"bad": {"every": "5m"}}, "resumed": ["bad"]}):
        assert "good" in [each.name for each in service.plan_leases(what_if=what_if).decisions], broken


def test_the_pages_answer(broken: str, admin_client: Client) -> None:
    for page in ("routines_fleet", "routines_fleet_live", "routines_plan"):
        assert admin_client.get(reverse(f"admin:{page}")).status_code == 200, (page, broken)
