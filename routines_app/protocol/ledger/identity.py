"""Which database holds the ledger, in the words of the database itself.

Settings cannot tell: one database has many addresses (a pooler, a replica, names in DNS), and one address leads to
another database tomorrow. So it is asked for what goes with the data.
"""

from __future__ import annotations

import os
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

from routines_app.models import RoutineRun
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.protocol.ledger.database_errors import is_outage
from routines_app.protocol.ledger.timeouts import bounded

FIRST_MIGRATION = ("routines", "0001_initial")

Identity = dict[str, str | None]


def ledger_identity() -> Identity:
    """Facts that are the same for every process on this ledger, and not on another; None where it does not say.

    Raises `django.db.Error` when the database is away.
    """
    connection: Any = connections[ledger_alias()]
    with bounded(), connection.cursor() as cursor:
        match connection.vendor:
            case "postgresql":
                found = _postgresql(cursor)
            case "mysql":  # members of a cluster have ids of their own, so the server is not asked for its
                cursor.execute("SELECT DATABASE()")
                found = {"database": str(cursor.fetchone()[0])}
            case _:
                found = _file(str(connection.settings_dict["NAME"]))
        return found | {"made": _made(connection)}


def is_same(one: Identity, other: Identity) -> bool:
    """Whether they may be the same ledger: what only one of them knows (rights differ) says nothing."""
    known = [name for name in one.keys() & other.keys() if one[name] is not None and other[name] is not None]
    return all(one[name] == other[name] for name in known)


def _made(connection: Any) -> str | None:
    """When the tables were made: that goes with the data into any copy of it, and no two projects share it.

    None where Django's own table may not be read, or somebody holds it: a beat has other things to do.
    """
    try:
        with transaction.atomic(using=connection.alias):
            first = MigrationRecorder(connection).applied_migrations().get(FIRST_MIGRATION)
    except DatabaseError as error:
        if is_outage(error):
            raise
        return None
    return None if first is None else str(first.applied.isoformat())


def _postgresql(cursor: Any) -> Identity:
    """A copy of the data is told apart by its server, or by its name; a standby is the same server."""
    cursor.execute(
        "SELECT current_database(), to_regclass(%s)::oid::text,"
        " has_function_privilege('pg_control_system()', 'EXECUTE')",
        [RoutineRun._meta.db_table],
    )
    database, table, may_ask = cursor.fetchone()
    server = None
    if may_ask:
        cursor.execute("SELECT system_identifier::text FROM pg_control_system()")
        (server,) = cursor.fetchone()
    return {"database": database, "table": table, "server": server}


def _file(name: str) -> Identity:
    """The same file has many paths (mounts, links) and one number."""
    try:
        return {"database": os.path.basename(name), "file": str(os.stat(name).st_ino)}
    except OSError:  # in memory
        return {"database": os.path.basename(name)}
