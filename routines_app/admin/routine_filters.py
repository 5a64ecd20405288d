"""Filters of the routines list by what a routine is: where it belongs, where it comes from, whether it ever ran.

Each is served by an index, or says what it costs; what each offers is bounded.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from routines_app import service
from routines_app.models import DECLARED_IN_DATABASE, Pool, Routine

OFFERED = 30  # pools and groups; any other is reached by its address
NONE = "none"
NEVER = "never"


class PoolFilter(admin.SimpleListFilter):
    title = _("pool")
    parameter_name = "pool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        pools = Pool.objects.using(service.ledger_alias()).order_by("name").values_list("pk", "name")[:OFFERED]
        offered = [(str(pk), name) for pk, name in pools]
        none = [(NONE, str(_("No pool")))] if offered else []
        return _with_chosen([*offered, *none], request.GET.get(self.parameter_name, ""))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        chosen = self.value()
        if not chosen:
            return queryset
        if chosen == NONE:
            return queryset.filter(pool=None)
        if not service.is_id(chosen):
            raise IncorrectLookupParameters
        return queryset.filter(pool_id=int(chosen))


class GroupFilter(admin.SimpleListFilter):
    title = _("group")
    parameter_name = "group"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        offered = [(name, name) for name in service.groups_of_routines(OFFERED)]
        return _with_chosen(offered, request.GET.get(self.parameter_name, ""))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        return queryset.filter(group=self.value()) if self.value() else queryset


class DeclaredFilter(admin.SimpleListFilter):
    title = _("origin")
    parameter_name = "declared"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("code", str(_("Declared in code"))), ("database", str(_("Made here")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        if self.value() == "database":
            return queryset.filter(declared_in=DECLARED_IN_DATABASE)
        if self.value() == "code":
            # Two stretches of the index; of "not equal" no index knows anything.
            return queryset.filter(Q(declared_in__lt=DECLARED_IN_DATABASE) | Q(declared_in__gt=DECLARED_IN_DATABASE))
        return queryset


class TaskFilter(admin.SimpleListFilter):
    """By the task names that there are, compared with what this process and the workers know: few, whatever the number
    of routines."""

    title = _("task")
    parameter_name = "task"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [("unregistered", str(_("Not registered")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        if self.value() != "unregistered":
            return queryset
        unknown = service.unregistered_tasks()
        if unknown is None:  # so many different tasks that each row is asked
            return queryset.exclude(task__in=service.known_anywhere()).exclude(task__startswith=service.OWN_TASKS)
        return queryset.filter(task__in=unknown)


class RanFilter(admin.SimpleListFilter):
    """No index leads there: what every run writes is in none. The states are narrow, and looked through."""

    title = _("runs")
    parameter_name = "ran"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(NEVER, str(_("Never ran, newest first")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        return queryset.filter(state__last_run_at=None, state__isnull=False) if self.value() == NEVER else queryset


def _with_chosen(offered: list[tuple[str, str]], chosen: str) -> list[tuple[str, str]]:
    """What is chosen is always there to be seen."""
    return offered if not chosen or chosen in dict(offered) else [*offered, (chosen, chosen)]
