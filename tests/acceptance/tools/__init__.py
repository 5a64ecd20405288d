"""What tools of a Celery shop see of runs, tried with the real packages and real workers."""
