"""The pages of the admin, on a working day."""

from __future__ import annotations

import pytest
from django.urls import reverse

from routines_app import service
from routines_app.models import Routine, RoutineRun
from tests.browser.scenes import a_working_day, backfilled, what_if

# Of its colours `test_accessibility.py` judges what can be judged; the pictures are for people.
LOOKS = ["light", pytest.param("dark", marks=pytest.mark.everything), "phone"]
PHONE = {"width": 390, "height": 844}
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def every_page() -> dict[str, str]:
    """The address of each, by its name; what they show is made first."""
    routine = a_working_day()
    run = RoutineRun.objects.get(status="RUNNING")
    failed = RoutineRun.objects.filter(status="FAILED", attempt=1).first()
    assert failed is not None
    paused = Routine.objects.get(name="push-to-crm")
    batch = service.pause_batch("sale", tag="reports", reason="a sale")
    pool = service.drain_pool("mail")
    return {
        "routines": reverse("admin:routines_routine_changelist"),
        "routine": reverse("admin:routines_routine_overview", args=[routine.pk]),
        "routine-form": reverse("admin:routines_routine_change", args=[routine.pk]),
        "routine-pause": reverse("admin:routines_routine_verb", args=[routine.pk, "pause"]),
        "routine-resume": reverse("admin:routines_routine_verb", args=[paused.pk, "resume"]),
        "runs": reverse("admin:routines_routinerun_changelist"),
        "run-running": reverse("admin:routines_routinerun_change", args=[run.pk]),
        "run-failed": reverse("admin:routines_routinerun_change", args=[failed.pk]),
        "routine-week": reverse("admin:routines_routine_overview", args=[routine.pk]) + "?window=7d",
        "routine-why": reverse("admin:routines_routine_overview", args=[routine.pk]) + "?why=03:00",
        "routine-history": reverse("admin:routines_routine_history", args=[routine.pk]),
        "routine-copy": reverse("admin:routines_routine_copy", args=[routine.pk]),
        "routine-backfill": reverse("admin:routines_routine_verb", args=[routine.pk, "backfill"]),
        "backfill": backfilled(routine),
        "routines-filtered": reverse("admin:routines_routine_changelist") + "?status__exact=ACTIVE&tag=shop",
        "runs-filtered": reverse("admin:routines_routinerun_changelist") + "?status=FAILED&range=24h",
        "run-groups": reverse("admin:routines_run_groups"),
        "runs-retry": reverse("admin:routines_run_many", args=["retry"]) + "?range=24h",
        "runs-cancel": reverse("admin:routines_run_many", args=["cancel"]),
        "batches": reverse("admin:routines_batches"),
        "batch": reverse("admin:routines_batch", args=[batch.pk]),
        "batch-new": reverse("admin:routines_batch_new") + "?filter=status__exact%3DACTIVE",
        "pool-drained": reverse("admin:routines_pool_change", args=[pool.pk]),
        "pool-stop": reverse("admin:routines_pool_verb", args=[pool.pk, "stop"]),
        "index": reverse("admin:index"),
        "agenda": reverse("admin:routines_agenda"),
        "agenda-day": reverse("admin:routines_agenda") + "?window=1d",
        "fleet": reverse("admin:routines_fleet"),
        "pools": reverse("admin:routines_pool_changelist"),
        "pool": reverse("admin:routines_pool_add"),
        "clear-overrides": reverse("admin:routines_fleet_verb", args=["clear-overrides"]),
        "hint-factor": reverse("admin:routines_routine_verb", args=[routine.pk, "hint-factor"]),
        "plan": reverse("admin:routines_plan"),
        "what-if": reverse("admin:routines_plan") + what_if(),
        "what-if-wrong": reverse("admin:routines_plan") + "?routine=sync-orders&cron=61+*+*+*+*&paused=nobody",
    }
