"""The tables: whether they are as this code knows them, and who keeps old runs from being pruned."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from routines_app.conf import get_settings
from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.doctor.answers import Answer, error, ok, some_of, warning

LABEL = "routines"

# Each gives the tables that refer to another, the constraint's name, and what it says about deletion.
_REFERENCES = {
    "postgresql": (
        "SELECT c.relname, k.conname, k.confdeltype::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid"
        " WHERE k.contype = 'f' AND k.confrelid = to_regclass(%s)"
    ),
    "mysql": (
        "SELECT table_name, constraint_name, delete_rule FROM information_schema.referential_constraints"
        " WHERE constraint_schema = DATABASE() AND referenced_table_name = %s"
    ),
    "sqlite": (
        'SELECT m.name, f."from", f.on_delete FROM sqlite_master m, pragma_foreign_key_list(m.name) f'
        " WHERE m.type = 'table' AND f.\"table\" = %s"
    ),
}
_REFUSES = {"a", "r", "NO ACTION", "RESTRICT"}


def migrations() -> Answer:
    """Those of this app alone."""
    loader = MigrationLoader(connections[ledger_alias()], ignore_no_migrations=True)
    known = {name for label, name in loader.graph.nodes if label == LABEL}
    applied = {name for label, name in loader.applied_migrations or () if label == LABEL}
    if missing := sorted(known - applied):
        return error(f"not applied: {some_of(missing)}", "run manage.py migrate")
    if newer := sorted(applied - known - _replaced(loader)):
        return warning(
            f"applied, and not known here: {some_of(newer)}", "this code is older than the database: upgrade it"
        )
    return ok(f"all applied, up to {max(known)}")


def _replaced(loader: MigrationLoader) -> set[str]:
    return {name for each in loader.replacements.values() for label, name in each.replaces if label == LABEL}


def foreign_keys() -> Answer:
    """A project's own tables may refer to runs. What their constraints do not let go is kept."""
    if not get_settings().keep_runs_days:
        return ok("nothing is pruned (KEEP_RUNS_DAYS is 0)")
    blocking = _blocking(connections[ledger_alias()])
    if not blocking:
        return ok("no table of yours keeps old runs from being pruned")
    return warning(
        f"runs that rows of other tables refer to are kept: {some_of(blocking)}",
        "prune those rows first, or make it ON DELETE CASCADE or SET NULL, or a field with db_constraint=False",
    )


def _blocking(connection: Any) -> list[str]:
    ours = {model._meta.db_table for model in apps.get_app_config(LABEL).get_models(include_auto_created=True)}
    with connection.cursor() as cursor:
        cursor.execute(_REFERENCES[connection.vendor], [RoutineRun._meta.db_table])
        found = cursor.fetchall()
    return sorted(f"{table} ({name})" for table, name, rule in found if table not in ours and rule in _REFUSES)
