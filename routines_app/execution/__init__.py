"""The worker's side: one Celery task that executes any routine's run inside an error boundary."""
