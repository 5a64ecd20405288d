"""What Celery's autodiscovery imports: the task that executes runs, and what a worker's processes set up for it."""

from routines_app.execution import monitored, pacemaker, process
from routines_app.execution.carrier import execute_run

__all__ = ["execute_run", "monitored", "pacemaker", "process"]
