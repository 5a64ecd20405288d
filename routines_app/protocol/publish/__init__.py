"""From the ledger to the broker: the outbox, who may go, room in pools, and eager mode.

A claim and `run_now` let new runs through by themselves; whatever waits is let through here. The broker's own side is
in `routines_app.coordination`.
"""
