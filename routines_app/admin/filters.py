"""Filters of the routines list that stay cheap with 100,000 routines."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db import connections
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest

from routines_app import service
from routines_app.admin.hint_facts import under_a_hint
from routines_app.admin.run_facts import overdue_runs
from routines_app.models import Routine

LATE = timedelta(minutes=1)


class HealthFilter(admin.SimpleListFilter):
    """What needs a look."""

    title = "health"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return [
            ("failing", "Failing"),
            ("late", "Late by a minute"),
            ("hinted", "Under a hint"),
            ("shadow", "In shadow"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        now = service.now()
        chosen = {
            "failing": Q(state__failure_count__gt=0) | Q(pk__in=overdue_runs().values("routine_id")),
            "late": Q(state__next_run_at__lt=now - LATE),
            "hinted": under_a_hint(now),
            "shadow": Q(moved_entry__isnull=False, shadow=True),  # by the few rows of what was moved
        }
        return queryset.filter(chosen.get(self.value() or "", Q()))


class TagFilter(admin.SimpleListFilter):
    """Chosen by clicking a tag: listing every tag would read every routine."""

    title = "tag"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        chosen = request.GET.get(self.parameter_name)
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        tag = self.value()
        if not tag:
            return queryset
        if connections[queryset.db].vendor == "postgresql":
            return queryset.filter(tags__contains=[tag])
        return queryset.alias(tag_text=Cast("tags", TextField())).filter(tag_text__contains=json.dumps(tag))
