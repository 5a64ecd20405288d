"""The protocol as a state machine over the real database code.

ROUTINES_MODEL_EXAMPLES asks for that many random examples instead of the fixed ones.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.model.hinting import Hinting
from tests.model.machine import Protocol

EXAMPLES = int(os.environ.get("ROUTINES_MODEL_EXAMPLES", "0"))
FIXED = 8 if os.environ.get("ROUTINES_TEST_DATABASE", "postgresql") == "postgresql" else 3

# Shrinking thousands of statements takes longer than reading them.
SETTINGS = settings(
    max_examples=EXAMPLES or FIXED,
    stateful_step_count=40,
    deadline=None,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


@pytest.mark.each_database
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(1800 if EXAMPLES else 300)
@pytest.mark.parametrize("machine", [Protocol, Hinting])
def test_every_step_of_the_protocol_keeps_the_ledger_balanced(machine: type[RuleBasedStateMachine]) -> None:
    """Beats, workers, a reconciler and a user act in any order and crash anywhere, or hint in any order; then
    everything owed happens."""
    run_state_machine_as_test(machine, settings=SETTINGS)
