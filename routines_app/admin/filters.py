"""Filters of the lists by what needs a look: each stays cheap with a million routines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.hint_facts import under_a_hint
from routines_app.admin.run_facts import overdue_runs
from routines_app.models import Routine

LATE = timedelta(minutes=1)


class HealthFilter(admin.SimpleListFilter):
    """What needs a look."""

    title = gettext_lazy("health")
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [
            ("failing", _("Failing")),
            ("late", _("Late by a minute")),
            ("hinted", _("Under a hint")),
            ("shadow", _("In shadow")),
            ("overdue", _("Will not stop")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        now = service.now()
        chosen = {
            "failing": Q(state__failure_count__gt=0) | self._overdue(),
            "overdue": self._overdue(),
            "late": Q(state__next_run_at__lt=now - LATE),
            "hinted": under_a_hint(now),
            "shadow": Q(moved_entry__isnull=False, shadow=True),  # by the few rows of what was moved
        }
        return queryset.filter(chosen.get(self.value() or "", Q()))

    def _overdue(self) -> Q:
        """By the states' own ids, which are read first: so both halves of *failing* are found by an index."""
        if self.value() not in ("failing", "overdue"):
            return Q()
        return Q(state__routine_id__in=list(overdue_runs().values_list("routine_id", flat=True)))
