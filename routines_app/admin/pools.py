"""Pools in the admin: how many runs may be in flight together."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from routines_app import service
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.charts import meter
from routines_app.admin.own_filters import OwnFiltersOnly
from routines_app.core.errors import RoutineError
from routines_app.models import Pool


class PoolChangeList(ChangeList):
    """Gives each pool of the page its use."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        used = service.pool_use()
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

    def get_urls(self) -> list[URLPattern]:
        return bounded_urls(super().get_urls())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"section": "pools", **(extra_context or {})})

    def changeform_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """What the service refuses is said on the same page; nothing was written."""
        try:
            return super().changeform_view(request, *args, **options)
        except RoutineError as refused:
            self.message_user(request, str(refused), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def has_delete_permission(self, request: HttpRequest, obj: Pool | None = None) -> bool:
        """A pool that is in use cannot go. This is asked for every page, so it asks only what an index answers."""
        used = obj is not None and service.is_pool_used(obj)
        return super().has_delete_permission(request, obj) and not used

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """A run may have come between the page and the button."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except RoutineError as refused:
            self.message_user(request, str(refused), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:routines_pool_change", args=[object_id]))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:  # noqa: ARG002
        """What deleting takes along. Django would load every run that a pool ever had to say that it keeps them."""
        remembered = [f"runs of {pool.name} in the ledger" for pool in objs if pool.runs.exists()]
        return [str(pool) for pool in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), remembered

    def save_model(self, request: HttpRequest, obj: Pool, form: Any, change: bool) -> None:  # noqa: ARG002
        typed = form.cleaned_data
        saved = service.update_pool(obj.pk, **typed) if change else service.create_pool(**typed)
        obj.__dict__.update(saved.__dict__)

    def delete_model(self, request: HttpRequest, obj: Pool) -> None:  # noqa: ARG002
        service.delete_pool(obj)

    @admin.display(description="in flight")
    def use(self, pool: Any) -> SafeString:
        words = f"{pool.used} of {pool.max_concurrent}"
        return format_html("{} {}", meter(pool.used, pool.max_concurrent, label=f"{words} in flight"), words)
