"""Pools in the admin: how many runs may be in flight together."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app.admin.charts import meter
from routines_app.admin.own_filters import OwnFiltersOnly
from routines_app.coordination.wakeups import wake_beats
from routines_app.core.transitions import ACTIVE
from routines_app.models import Pool, RoutineRun
from routines_app.protocol.ledger.database import ledger_alias, on_commit


def in_flight() -> dict[int, int]:
    """How many runs of each pool are admitted and not ended, in one query."""
    admitted = RoutineRun.objects.using(ledger_alias()).filter(
        pool__isnull=False, status__in=sorted(ACTIVE), admitted_at__isnull=False
    )
    return dict(admitted.order_by().values_list("pool").annotate(Count("pk")))


class PoolChangeList(ChangeList):
    """Gives each pool of the page its use."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        used = in_flight()
        rows: list[Any] = list(self.result_list)
        for pool in rows:
            pool.used = used.get(pool.pk, 0)
        self.result_list = rows


@admin.register(Pool)
class PoolAdmin(OwnFiltersOnly):
    """A pool is its name and its ceiling; the list shows how full it is."""

    list_display = ["name", "max_concurrent", "use"]
    search_fields = ["name"]
    actions = None
    show_full_result_count = False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return PoolChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"section": "pools", **(extra_context or {})})

    def has_delete_permission(self, request: HttpRequest, obj: Pool | None = None) -> bool:
        """A pool that is in use cannot go. This is asked for every page, so it asks only what an index answers."""
        used = obj is not None and (obj.routines.exists() or obj.runs.filter(status__in=sorted(ACTIVE)).exists())
        return super().has_delete_permission(request, obj) and not used

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:  # noqa: ARG002
        """What deleting takes along. Django would load every run that a pool ever had to say that it keeps them."""
        remembered = [f"runs of {pool.name} in the ledger" for pool in objs if pool.runs.exists()]
        return [str(pool) for pool in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), remembered

    def save_model(self, request: HttpRequest, obj: Pool, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        on_commit(wake_beats)  # a higher ceiling lets waiting runs go now

    @admin.display(description="in flight")
    def use(self, pool: Any) -> SafeString:
        words = f"{pool.used} of {pool.max_concurrent}"
        return format_html("{} {}", meter(pool.used, pool.max_concurrent, label=f"{words} in flight"), words)
