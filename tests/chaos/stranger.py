"""A stranger: somebody with a connection of their own who holds one row locked for a while, as any program may."""

from __future__ import annotations

from random import Random

import psycopg

# What a stranger may hold, and how it is found. Of runs an active one: nobody else wants the others.
ROWS = {
    "a routine": "SELECT id FROM routines_routine",
    "a state": "SELECT routine_id FROM routines_routinestate",
    "a run": "SELECT id FROM routines_routinerun WHERE status IN ('PENDING', 'RUNNING')",
}
LOCKS = {
    "a routine": "SELECT 1 FROM routines_routine WHERE id = %s FOR UPDATE",
    "a state": "SELECT 1 FROM routines_routinestate WHERE routine_id = %s FOR UPDATE",
    "a run": "SELECT 1 FROM routines_routinerun WHERE id = %s FOR UPDATE",
}


class Stranger:
    """Holds its row for a while; a server that dies lets go of it too.

    The server ends its transaction, not the nemesis: that one acts as people do as well, in the same thread, and would
    wait for ever for a row that it is to let go itself.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self.connection = psycopg.connect(url, connect_timeout=2, application_name="stranger")
        self.seconds = seconds

    def hold(self, what: str, random: Random) -> bool:
        """Lock a row of that kind, if there is one that is free within a moment."""
        try:
            self.connection.execute("SET lock_timeout = '500ms'")
            self.connection.execute(f"SET idle_in_transaction_session_timeout = '{self.seconds * 1000:.0f}ms'")
            found = self.connection.execute(ROWS[what]).fetchall()
            if not found:
                self.go()
                return False
            self.connection.execute(LOCKS[what], random.choice(found))
        except psycopg.Error:
            self.go()
            return False
        return True

    def go(self) -> None:
        self.connection.close()  # an open transaction is rolled back, whatever state it is in
