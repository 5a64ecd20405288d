"""Pools in the admin: how many runs may be in flight together."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin import pool_verbs
from routines_app.admin.bounds import bounded_urls
from routines_app.admin.fleet_facts import pool_meter
from routines_app.admin.own_filters import OwnFiltersOnly
from routines_app.admin.refusals import refuse
from routines_app.admin.translating import grouped, translated
from routines_app.core.errors import RoutineError
from routines_app.models import Pool


class PoolForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is typed goes to the service, and what the service refuses stands at its field."""

    refused: RoutineError | None = None

    is_default = forms.BooleanField(
        label=gettext_lazy("Default pool"),
        required=False,
        help_text=gettext_lazy(
            "Every routine that names no pool belongs to this one. It takes the place of another default pool."
        ),
    )

    class Meta:
        model = Pool
        fields = ["name", "max_concurrent"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial.setdefault("is_default", bool(self.instance.is_default))
        for name, field in self.fields.items():  # so that what was touched is known although the pool has changed since
            known = not self.is_bound or self.add_initial_prefix(name) in self.data
            field.show_hidden_initial = known and self.instance.pk is not None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.refused is not None:
            refuse(self, self.refused)
        return cleaned

    def validate_unique(self) -> None:
        """The service judges names, once and for everybody."""


class PoolChangeList(ChangeList):
    """Gives each pool of the page its use."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        counts = service.pool_counts()
        rows: list[Any] = list(self.result_list)
        for pool in rows:
            counted = counts.get(pool.pk)
            pool.in_flight, pool.waiting = (counted.in_flight, counted.waiting) if counted else (0, 0)
        self.result_list = rows


@admin.register(Pool)
class PoolAdmin(OwnFiltersOnly):
    """A pool is its name and its ceiling; the list shows how full it is."""

    form = PoolForm
    fields = ["name", "max_concurrent", "is_default"]
    exclude = ["is_default"]  # the column, which is True or nothing, and never twice; the box is the form's own
    list_display = ["called", "max_concurrent", "use", "waiting"]
    search_fields = ["name"]
    actions = None
    show_full_result_count = False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return PoolChangeList

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [path("<int:pool_id>/do/<slug:verb>/", wrap(self.verb_view), name="routines_pool_verb")]
        return bounded_urls(own + super().get_urls())

    def verb_view(self, request: HttpRequest, pool_id: int, verb: str) -> HttpResponse:
        return pool_verbs.pool_verb_page(self, request, pool_id, verb)

    def render_change_form(self, request: HttpRequest, context: Any, *about: Any, **options: Any) -> HttpResponse:
        """With its use, and its verbs."""
        pool = context.get("original")
        if pool is not None:
            context |= {"pool_use": pool_verbs.use_of(pool), "pool_verbs": pool_verbs.offered(request, pool)}
        return super().render_change_form(request, context, *about, **options)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"section": "pools", **(extra_context or {})})

    def changeform_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """What the service refuses is said at its field, on the same page; nothing was written."""
        try:
            return super().changeform_view(request, *args, **options)
        except RoutineError as refused:
            request.pool_refused = refused  # type: ignore[attr-defined]
            return super().changeform_view(request, *args, **options)

    def get_form(self, request: HttpRequest, obj: Pool | None = None, change: bool = False, **kwargs: Any) -> Any:
        made: Any = super().get_form(request, obj, change=change, **kwargs)
        made.refused = getattr(request, "pool_refused", None)
        return made

    def has_delete_permission(self, request: HttpRequest, obj: Pool | None = None) -> bool:
        """A pool that is in use cannot go. This is asked for every page, so it asks only what an index answers."""
        used = obj is not None and service.is_pool_used(obj)
        return super().has_delete_permission(request, obj) and not used

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """A run may have come between the page and the button."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except RoutineError as refused:
            self.message_user(request, translated(refused), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:routines_pool_change", args=[object_id]))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:  # noqa: ARG002
        """What deleting takes along. Django would load every run that a pool ever had to say that it keeps them."""
        kept = _("runs of {pool} in the ledger")
        remembered = [kept.format(pool=pool.name) for pool in objs if pool.runs.exists()]
        return [str(pool) for pool in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), remembered

    def save_model(self, request: HttpRequest, obj: Pool, form: Any, change: bool) -> None:  # noqa: ARG002
        typed = {name: value for name, value in form.cleaned_data.items() if not change or name in form.changed_data}
        saved = service.update_pool(obj.pk, **typed) if change else service.create_pool(**typed)
        obj.__dict__.update(saved.__dict__)

    def delete_model(self, request: HttpRequest, obj: Pool) -> None:  # noqa: ARG002
        service.delete_pool(obj)

    @admin.display(description=gettext_lazy("name"), ordering="name")
    def called(self, pool: Pool) -> SafeString:
        default = _chip(_("default")) if pool.is_default else ""
        drained = _chip(_("drained")) if pool.drained_from is not None else ""
        return format_html("{}{}{}", pool.name, default, drained)

    @admin.display(description=gettext_lazy("in flight"))
    def use(self, pool: Any) -> SafeString:
        words = _("{count} of {all}").format(count=grouped(pool.in_flight), all=grouped(pool.max_concurrent))
        return format_html("{} {}", pool_meter(pool), words)

    @admin.display(description=gettext_lazy("waiting"))
    def waiting(self, pool: Any) -> int:
        return int(pool.waiting)


def _chip(word: str) -> SafeString:
    return format_html(' <span class="rt-chip">{}</span>', word)
