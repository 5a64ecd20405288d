"""What Celery's autodiscovery imports: the task that executes runs, what a worker's processes set up for it, and the
task that seeds rotations."""

from routines_app.execution import monitored, pacemaker, process
from routines_app.execution.carrier import execute_run
from routines_app.execution.seeding import seed

__all__ = ["execute_run", "monitored", "pacemaker", "process", "seed"]
