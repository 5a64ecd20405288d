"""`routines pause --batch`, `resume --batch`, `batches`, and pools that let nothing start."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.core.management import CommandError

from routines_app import service
from routines_app.models import Pool, Routine
from tests.integration.conftest import Time
from tests.integration.management.commands.test_routines import routines
from tests.integration.verbs.rows import running_run

Make = Callable[..., Routine]


def test_a_batch_is_paused_listed_previewed_and_resumed(make: Make, time: Time) -> None:
    """Each line says what was done."""
    make("a", every="1h", tags=["shop"])
    service.pause_routine(make("own", every="1h", tags=["shop"]))
    said = routines("pause", "--tag", "shop", "--batch", "sale", "--until", "2026-03-03T00:00", "--reason", "a sale")
    assert said == (
        "batch sale has paused 1 routines until 2026-03-03 00:00:00+00:00; "
        "1 were paused already, and keep their own pause\n"
    )
    (row,) = json.loads(routines("batches", "--json"))
    assert (row["name"], row["by"], row["paused"], row["state"]) == ("sale", "tag shop", 1, "paused")
    assert routines("pause", "--batch", "sale").startswith("batch sale has paused 1")
    time.pass_by(hours=3)
    assert "LAST: 1 runs, 2 slots skipped" in routines("resume", "--batch", "sale", "--preview")
    assert "resumed 1 routines; slots released as LAST" in routines("resume", "--batch", "sale", "--release", "LAST")
    assert json.loads(routines("batches", "--json")) == []
    assert "over" in routines("batches", "--closed")


@pytest.mark.parametrize(
    "arguments",
    [
        ("pause",),
        ("pause", "--tag", "shop"),
        ("pause", "a", "--batch", "sale"),
        ("pause", "--tag", "x", "--group", "y", "--batch", "sale"),
        ("resume",),
        ("resume", "a", "--batch", "sale"),
        ("resume", "a", "--preview"),
        ("resume", "--batch", "none"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(make: Make, arguments: tuple[str, ...]) -> None:
    """With a word about what would."""
    make("a", every="1h", tags=["shop"])
    with pytest.raises(CommandError, match=r"give|no open batch"):
        routines(*arguments)
    assert service.find_routine("a").status == "ACTIVE"


def test_a_pool_is_drained_stopped_and_opened(make: Make) -> None:
    """With how many still run."""
    pool = service.create_pool("db", max_concurrent=2)
    running_run(make("a", every="1h", pool="db"), pool=pool)
    assert routines("pool", "drain", "db") == "pool db lets nothing start: 1 still run, 0 wait\n"
    assert json.loads(routines("pool", "stop", "--id", str(pool.pk), "--json"))["asked"] == 1
    assert routines("pool", "open", "db") == "pool db is open: at most 2 in flight\n"
    assert Pool.objects.get().max_concurrent == 2
