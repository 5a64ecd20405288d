"""The admin: one module per page, all on Django's own admin site."""

from routines_app.admin.pools import PoolAdmin
from routines_app.admin.routines import RoutineAdmin
from routines_app.admin.runs import RunAdmin

__all__ = ["PoolAdmin", "RoutineAdmin", "RunAdmin"]
