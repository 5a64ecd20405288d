"""The worker's side: one Celery task (`carrier.py`) that executes any routine's run inside an error boundary.

Processes, threads, signals, Celery's own task machinery. What is written to the ledger goes through `protocol`, and a
revocation through the service.
"""
