"""From the ledger to the broker: the outbox, who may go, room in pools, and eager mode.

Whoever lets a run through stands here. The broker's own side is in `routines_app.coordination`.
"""
