"""What goes out comes back: export, wipe, import, export again, and both files are the same, byte for byte."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given

from routines_app import service
from routines_app.models import Pool, Rotation, RotationMember, Routine, RoutineState, ScheduleChange
from tests.integration.conftest import Time
from tests.integration.fuzzing import fuzzed
from tests.integration.verbs.exports.generated import SECRET, fleets, make

pytestmark = pytest.mark.django_db


class Undo(Exception):
    pass


def wipe() -> None:
    ScheduleChange.objects.all().delete()
    RotationMember.objects.all().delete()
    Routine.objects.update(rotation=None, parent=None)
    Rotation.objects.all().delete()
    RoutineState.objects.all().delete()
    Routine.objects.all().delete()
    Pool.objects.all().delete()


def rows() -> list[Any]:
    """Everything that is stored about routines, but for ids and times of writing."""
    left_out = {"id", "version", "created_at", "updated_at", "parent_id", "pool_id", "rotation_id"}
    found = []
    for routine in Routine.objects.select_related("pool", "parent", "rotation__routine").order_by("name"):
        row = {
            f.attname: getattr(routine, f.attname) for f in Routine._meta.concrete_fields if f.attname not in left_out
        }
        names = [each and each.name for each in (routine.pool, routine.parent, routine.rotation)]
        plan = (
            routine.state.next_slot,
            routine.state.next_run_at,
            routine.state.next_source,
            routine.state.fingerprint,
        )
        found.append((row, names, plan, hasattr(routine, "membership")))
    return found


def remembered(data: Any) -> dict[str, str]:
    """What somebody would set before an import: what each reference of the export stands for."""
    found: dict[str, str] = {}

    def walk(shown: Any, stored: Any) -> None:
        if isinstance(shown, dict) and "$secret" in shown:
            found[shown["$secret"]] = json.dumps(stored) if "is" in shown else stored
        elif isinstance(shown, dict):
            for key, value in shown.items():
                walk(value, stored[key[1:] if re.fullmatch(r"\$+secret", key) else key])
        elif isinstance(shown, list):
            for value, other in zip(shown, stored, strict=True):
                walk(value, other)

    for name, entry in (data.get("routines", {}) | data.get("rotations", {})).items():
        routine = Routine.objects.get(name=name)
        for field in ("description", "args", "kwargs", "options", "phases"):
            if field in entry:
                walk(
                    entry[field], getattr(getattr(routine, "rotates", routine) if field == "phases" else routine, field)
                )
    return found


@given(acts=fleets())
@fuzzed(30)
def test_what_is_exported_is_imported_as_it_was(acts: list[Any], time: Time) -> None:
    try:
        with transaction.atomic():
            make(acts)
            before, data = rows(), service.export_routines()
            yaml, as_json = service.render_export(data, "yaml"), service.render_export(data, "json")
            assert SECRET not in yaml + as_json
            assert service.read_export(yaml) == service.read_export(as_json) == data
            assert service.plan_import(data, secrets={}).is_idle
            secrets = remembered(data)
            wipe()
            plan = service.import_routines(service.read_export(yaml), secrets=secrets)
            assert not plan.problems
            assert service.render_export(service.export_routines(), "yaml") == yaml
            assert rows() == before
            again = service.plan_import(service.read_export(as_json), secrets=secrets)
            assert (again.problems, again.is_idle) == ((), True)
            raise Undo
    except Undo:
        pass
