"""What beats and workers agree on outside the database: leases and wake-ups in Redis, messages in the broker.

None of it is trusted with truth: whatever is lost here, the ledger knows better. Nothing here reads or writes a row.
"""
