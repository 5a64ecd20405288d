"""After `migrate`: what the project's code declares, and is not in the ledger yet, is made there.

A deployment that migrates has its new routines before any beat has started, and so has a test database, as with rows
that a data migration makes. Those that are there stay as they are: workers of the release before still run them, and
may not know what code says now. A beat's start, or `routines sync`, brings that. `ROUTINES["SYNC_AT_MIGRATE"] = False`
leaves all of it to them.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from routines_app import service
from routines_app.conf import get_settings

logger = logging.getLogger(__name__)


def sync_after_migrate(*, using: str, verbosity: int = 1, stdout: Any = None, **_: Any) -> None:
    """The database is migrated whatever is wrong here: that is said, and a beat tries again."""
    try:
        if using != service.ledger_alias() or not (get_settings().sync_declared and get_settings().sync_at_migrate):
            return
        # First what costs nothing: `flush` sends this signal too, in some suites after every test.
        if not service.read_declarations().names or not _is_current(using):
            return
        steps = service.differing(service.sync_declared(only_new=True))
    except Exception as error:
        logger.exception("what code declares is not synced: %s", error)
        return
    for step in steps:
        if step.act is service.Act.REFUSE:
            logger.error("declared routine %r is refused: %s", step.name, step.why)
        elif verbosity > 0 and stdout is not None:
            stdout.write(f"  Declared in code: {step.act} {step.name}{step.why and f' ({step.why})'}\n")


def _is_current(using: str) -> bool:
    """Whether the tables are those of this release: `migrate` also goes back, and to older ones on the way."""
    newest = _newest_migrations()
    recorder = MigrationRecorder(connections[using])
    if not newest or not recorder.has_table():
        return not newest  # a project that makes its tables without migrations has those of this release
    return recorder.migration_qs.filter(app="routines", name__in=newest).count() == len(newest)


@lru_cache(maxsize=1)
def _newest_migrations() -> list[str]:
    """Read from files, of all apps: once in a process."""
    return [name for _, name in MigrationLoader(None).graph.leaf_nodes("routines")]
