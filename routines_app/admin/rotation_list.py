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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from routines_app import service
from routines_app.admin.due_markup import next_fire, status_pill
from routines_app.admin.markup import NOTHING
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.routine_columns import schedule_of, state_of
from routines_app.admin.translating import grouped
from routines_app.core.words import RoutineStatus
from routines_app.models import Rotation
from routines_app.models.choices import choices_of


class StatusFilter(admin.SimpleListFilter):
    """Of the rotation's own routine."""

    title = gettext_lazy("status")
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

    @admin.display(description=gettext_lazy("rotation"), ordering="routine__name")
    def title(self, rotation: Rotation) -> SafeString:
        page = reverse("admin:routines_rotation_overview", args=[rotation.pk])
        under = rotation.routine.description
        return format_html(
            '<a class="rt-name" href="{}">{}</a>{}',
            page,
            rotation.name,
            format_html('<div class="rt-under">{}</div>', under[:120]) if under else "",
        )

    @admin.display(description=gettext_lazy("state"))
    def state_pill(self, rotation: Rotation) -> SafeString:
        return status_pill(rotation.routine, state_of(rotation.routine))

    @admin.display(description=pgettext_lazy("when it ticks", "ticks"))
    def schedule(self, rotation: Rotation) -> str:
        return schedule_of(rotation.routine)

    @admin.display(description=gettext_lazy("next tick"), ordering="routine__state__next_run_at")
    def next_tick(self, rotation: Rotation) -> SafeString:
        state = state_of(rotation.routine)
        return NOTHING if state is None else next_fire(state.next_run_at)

    @admin.display(description=gettext_lazy("members"))
    def members(self, rotation: Any) -> str:
        return grouped(rotation.counted.members)

    @admin.display(description=gettext_lazy("owed"))
    def owed(self, rotation: Any) -> str:
        return grouped(rotation.counted.owed)

    @admin.display(description=gettext_lazy("in flight"))
    def in_flight(self, rotation: Any) -> str:
        count, most = rotation.counted.in_flight, rotation.max_in_flight
        return _("{count} of {all}").format(count=grouped(count), all=grouped(most))

    @admin.display(description=gettext_lazy("failing"))
    def failing(self, rotation: Any) -> SafeString | str:
        count = rotation.counted.failing
        return format_html('<span class="rt-bad">{}</span>', grouped(count)) if count else "0"

    @admin.display(description=gettext_lazy("stalest"))
    def stalest(self, rotation: Any) -> SafeString | str:
        since = rotation.counted.stale_since
        return NOTHING if since is None else seconds_in_words((service.now() - since).total_seconds())

    @admin.display(description=gettext_lazy("idle"))
    def idle(self, rotation: Rotation) -> SafeString:
        if rotation.idle_multiplier <= 1:
            return format_html('<span class="rt-quiet">{}</span>', pgettext("rotation", "awake"))
        ticks = rotation.idle_multiplier
        said = ngettext("{count} tick a look", "{count} ticks a look", ticks).format(count=ticks)
        return format_html('<span class="rt-chip">{}</span>', said)
