"""Fields that several places must agree on: each test names the field that one of them does not know."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path

import routines_app
from routines_app.core.fingerprint import schedule_fingerprint
from routines_app.core.words import TRIGGER_FIELDS, TriggerKind
from routines_app.models import Routine
from routines_app.protocol.claim.due import DueRow
from routines_app.verbs.audit_slots import FIELDS as AUDITED_FIELDS
from routines_app.verbs.checking.triggers import NEEDED, OWN_FIELD
from routines_app.verbs.checking.validation import FIELDS, OTHER_VERBS, SCHEDULE_FIELDS

# What the machinery itself writes on a routine.
MACHINERY = {"id", "declared_seen_at", "declared", "version", "created_at", "updated_at"}
# An interval moves with hints, clamps and failures: the audit judges it by continuity, not by the slots of a cron.
NOT_OF_A_CRON = {"interval_ms", "min_interval_ms", "max_interval_ms"}


def test_what_makes_a_new_plan_changes_the_fingerprint():
    """Else an edit by plain SQL would go unnoticed, or an edit by the service would be taken for one."""
    fingerprinted = set(signature(schedule_fingerprint).parameters)
    assert sorted(fingerprinted ^ SCHEDULE_FIELDS) == []


def test_the_audit_follows_each_field_that_moves_the_slots_of_a_cron():
    assert sorted(set(AUDITED_FIELDS) ^ (SCHEDULE_FIELDS - NOT_OF_A_CRON)) == []


def test_a_claim_reads_what_its_plan_depends_on():
    assert sorted(SCHEDULE_FIELDS - set(DueRow._fields)) == []


def test_each_field_of_a_routine_has_a_rule_or_a_verb():
    stored = {field.name for field in Routine._meta.concrete_fields}
    assert sorted(stored ^ (set(FIELDS) | set(OTHER_VERBS) | MACHINERY)) == []


def test_each_kind_of_trigger_says_what_it_needs():
    assert set(TriggerKind) == set(OWN_FIELD) == set(NEEDED)
    assert {*TRIGGER_FIELDS} == {"trigger_kind", *filter(None, OWN_FIELD.values())}
    assert set(TRIGGER_FIELDS) <= SCHEDULE_FIELDS


def test_the_fields_of_a_trigger_are_listed_in_one_place():
    """A second list would miss the field that a new kind brings along."""
    assigned = re.compile(r'^TRIGGER_FIELDS\b.*=|\("trigger_kind", "cron", "interval_ms"\b', re.MULTILINE)
    package = Path(routines_app.__file__).parent
    found = [str(path.relative_to(package)) for path in package.rglob("*.py") if assigned.search(path.read_text())]
    assert found == ["core/words.py"]
