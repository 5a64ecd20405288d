"""A run on a worker: its start, its heartbeat, and what task code can ask about it. Its end is in `end`.

The ledger's side of it. Processes, threads and signals are in `routines_app.execution`.
"""
