"""The beat: a Celery scheduler that any number of processes run side by side."""
