"""The rotations list: one query for the rows, and one that counts all their members."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.due_markup import next_fire, status_pill
from routines_app.admin.markup import NOTHING
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.routine_columns import schedule_of, state_of
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation
from routines_app.models.choices import choices_of


class StatusFilter(admin.SimpleListFilter):
    """Of the rotation's own routine."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        return choices_of(RoutineStatus)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Rotation]) -> QuerySet[Rotation]:  # noqa: ARG002
        return queryset.filter(routine__status=self.value()) if self.value() else queryset


class RotationChangeList(ChangeList):
    """Gives each row of the page the numbers of its members."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        counts = service.count_members(rows)
        for row in rows:
            row.counted = counts[row.pk]
        self.result_list = rows


class RotationColumns:
    """Display methods; the list's rows carry what they need (`RotationChangeList`)."""

    @admin.display(description="rotation", ordering="routine__name")
    def title(self, rotation: Rotation) -> SafeString:
        page = reverse("admin:routines_rotation_overview", args=[rotation.pk])
        under = rotation.routine.description
        return format_html(
            '<a class="rt-name" href="{}">{}</a>{}',
            page,
            rotation.name,
            format_html('<div class="rt-under">{}</div>', under[:120]) if under else "",
        )

    @admin.display(description="state")
    def state_pill(self, rotation: Rotation) -> SafeString:
        return status_pill(rotation.routine, state_of(rotation.routine))

    @admin.display(description="ticks")
    def schedule(self, rotation: Rotation) -> str:
        return schedule_of(rotation.routine)

    @admin.display(description="next tick", ordering="routine__state__next_run_at")
    def next_tick(self, rotation: Rotation) -> SafeString:
        state = state_of(rotation.routine)
        return NOTHING if state is None else next_fire(state.next_run_at)

    @admin.display(description="members")
    def members(self, rotation: Any) -> str:
        return f"{rotation.counted.members:,}"

    @admin.display(description="owed")
    def owed(self, rotation: Any) -> str:
        return f"{rotation.counted.owed:,}"

    @admin.display(description="in flight")
    def in_flight(self, rotation: Any) -> str:
        return f"{rotation.counted.in_flight:,} of {rotation.max_in_flight:,}"

    @admin.display(description="failing")
    def failing(self, rotation: Any) -> SafeString | str:
        count = rotation.counted.failing
        return format_html('<span class="rt-bad">{}</span>', f"{count:,}") if count else "0"

    @admin.display(description="stalest")
    def stalest(self, rotation: Any) -> SafeString | str:
        since = rotation.counted.stale_since
        return NOTHING if since is None else seconds_in_words((service.now() - since).total_seconds())

    @admin.display(description="idle")
    def idle(self, rotation: Rotation) -> SafeString:
        if rotation.idle_multiplier <= 1:
            return format_html('<span class="rt-quiet">{}</span>', "awake")
        return format_html('<span class="rt-chip">{} ticks a look</span>', rotation.idle_multiplier)
