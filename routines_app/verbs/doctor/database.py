"""The database that holds the ledger: which it is, how it isolates, whose clock is off."""

from __future__ import annotations

from typing import Any

from django.db import NotSupportedError, connections

from routines_app.protocol.ledger import clock
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.doctor.answers import Answer, error, ok, some_of, warning
from routines_app.verbs.doctor.nodes import alive_nodes

OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}  # SKIP LOCKED and check constraints
READ_COMMITTED = "READ COMMITTED"
FAR_OFF_SECONDS = 1.0


def kind() -> Answer:
    """Which database, and whether it is one that the ledger can be in."""
    connection: Any = connections[ledger_alias()]
    try:
        connection.ensure_connection()
    except NotSupportedError as refused:  # Django talks to none that is too old for itself
        return error(str(refused), "upgrade it")
    version = tuple(connection.get_database_version())
    oldest = max(OLDEST.get(connection.display_name, ()), connection.features.minimum_database_version or ())
    told = f"{connection.display_name} {_dotted(version)}, alias {connection.alias!r}"
    if connection.vendor not in ("postgresql", "mysql", "sqlite"):
        return error(told, "use PostgreSQL, MariaDB, MySQL or SQLite")
    if version < oldest:
        return error(f"{told}, older than {_dotted(oldest)}", "upgrade it")
    return ok(told)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def isolation() -> Answer:
    """As a session of this project has it."""
    level = _isolation(connections[ledger_alias()])
    if level == READ_COMMITTED:
        return ok(level)
    if not level:
        return ok("SQLite: a transaction that writes is alone")
    return warning(
        f"{level}: verbs, starts and ends of runs meet serialization failures, or rows as they were",
        "leave isolation_level at READ COMMITTED for this alias",
    )


def _isolation(connection: Any) -> str:
    if connection.vendor == "sqlite":
        return ""
    statement = "SHOW transaction_isolation"
    if connection.vendor == "mysql":
        statement = f"SELECT @@{'tx_isolation' if connection.mysql_is_mariadb else 'transaction_isolation'}"
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return str(cursor.fetchone()[0]).upper().replace("-", " ")


def clocks() -> Answer:
    """This machine's clock against the database's, and those of beats and workers, as they have last found them."""
    ahead = {"this machine": clock.wall_ahead_seconds()}
    ahead |= {node.name: seconds for node in alive_nodes() if (seconds := node.clock_ahead_seconds) is not None}
    off = {name: seconds for name, seconds in ahead.items() if abs(seconds) > FAR_OFF_SECONDS}
    if not off:
        most = max(map(abs, ahead.values()))
        return ok(f"{len(ahead)} compared with the database's, at most {most:.2f} s off")
    told = [f"{name} is {abs(seconds):.1f} s {'ahead' if seconds > 0 else 'behind'}" for name, seconds in off.items()]
    return warning(
        f"{some_of(told)}, compared with the database",
        "let the machines keep time (chrony, NTP): routines go by the database's, but logs and etas do not",
    )
