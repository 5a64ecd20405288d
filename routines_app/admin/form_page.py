"""The page that adds and changes a routine: it hands the form to the service and shows what the service refuses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from zoneinfo import available_timezones

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from routines_app import service
from routines_app.admin.form import RoutineForm
from routines_app.admin.form_fields import RowField
from routines_app.admin.log_entries import actor_of
from routines_app.admin.permissions import may
from routines_app.admin.restoring import ROUTINE_PARTS
from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError
from routines_app.models import Rotation, Routine

FIELDSETS: list[Any] = [
    (None, {"fields": ["name", "description", "tags", "group"]}),
    (gettext_lazy("What runs"), {"fields": ["task", "other_task", "args", "kwargs", "queue", "options"]}),
    (
        gettext_lazy("When"),
        {
            "fields": ["trigger_kind", "cron", "interval_ms", "once_at", "timezone", "start_at", "end_at", "jitter_ms"],
            "classes": ["rt-when"],
        },
    ),
    (
        gettext_lazy("When runs meet, and when slots are missed"),
        {
            "fields": [
                ("concurrency_policy", "pool"),
                ("catch_up_policy", "misfire_grace_ms"),
                ("catch_up_window_ms", "catch_up_limit"),
            ]
        },
    ),
    (
        gettext_lazy("Time-out and retries"),
        {
            "fields": [
                ("timeout_ms", "expires_ms"),
                ("max_attempts", "park_after"),
                ("retry_delay_ms", "retry_max_delay_ms", "retry_jitter"),
                ("retry_for", "no_retry_for"),
                "keep_result",
            ]
        },
    ),
    (
        gettext_lazy("Rank and pace"),
        {
            # One field to a line: among several in one, Django overlooks an error, and stays closed over it.
            "fields": ["priority", "emphasis", "parent", "min_interval_ms", "max_interval_ms"],
            "classes": ["collapse"],
        },
    ),
    (gettext_lazy("Rotation"), {"fields": ["rotation", "phases"], "classes": ["collapse"]}),
    (gettext_lazy("Why"), {"fields": ["change_reason", "read_version"]}),
]

COPY_FIELDSET: Any = (gettext_lazy("Copy"), {"fields": ["start_paused"]})


class RoutineFormPage(admin.ModelAdmin):  # type: ignore[type-arg]
    """The part of the routine admin that adds and changes."""

    form = RoutineForm
    fieldsets = FIELDSETS
    change_form_template = "routines/routine_form.html"
    save_on_top = False
    view_on_site = False

    @method_decorator(sensitive_post_parameters(*ROUTINE_PARTS))  # should this fail, the report does not quote them
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if object_id is not None and not self.has_change_permission(request):
            return self._looked_at(request, object_id)
        if object_id is not None and (rotation := _rotation_of(object_id)) is not None:
            return HttpResponseRedirect(reverse("admin:routines_rotation_change", args=[rotation]))
        context = {"section": "routines", "timezones": timezone_names(), **(extra_context or {})}
        try:
            return super().changeform_view(request, object_id, form_url, context)
        except RoutineError as refused:
            # Nothing was written. Render the form again, with the refusal where it can be mended.
            request.routine_refused = refused  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, context)

    def _looked_at(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Django's read-only form would show arguments unmasked; the page of the routine shows everything."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        routine = self.get_object(request, unquote(object_id))
        if routine is None:
            raise Http404(_("There is no such routine."))
        return HttpResponseRedirect(reverse("admin:routines_routine_overview", args=[routine.pk]))

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only what the person may see can be chosen: the form would tell its name, and ids can be guessed."""
        if not self._may_see(request, db_field.related_model):
            kwargs["queryset"] = db_field.related_model._default_manager.none()
        return super().formfield_for_foreignkey(db_field, request, form_class=RowField, **kwargs)

    def _may_see(self, request: HttpRequest, model: type[Model]) -> bool:
        """Those who may look at routines see the pools of routines too."""
        return self.has_view_permission(request) or may(request, f"view_{model._meta.model_name}")

    def get_form(self, request: HttpRequest, obj: Routine | None = None, change: bool = False, **kwargs: Any) -> Any:
        made: Any = super().get_form(request, obj, change=change, **kwargs)
        made.refused = getattr(request, "routine_refused", None)
        made.copied = _copied(request) if obj is None else None
        return made

    def get_readonly_fields(self, request: HttpRequest, obj: Routine | None = None) -> list[str]:  # noqa: ARG002
        return sorted(service.DECLARED_FIELDS) if obj is not None and obj.is_declared_in_code else []

    def get_fieldsets(self, request: HttpRequest, obj: Routine | None = None) -> Any:
        """One that is declared in code cannot have another task here; a copy may begin paused."""
        if obj is None and _copied(request) is not None:
            return [*FIELDSETS[:-1], COPY_FIELDSET, FIELDSETS[-1]]
        if obj is None or not obj.is_declared_in_code:
            return FIELDSETS
        return [(title, {**options, "fields": _of_code(options["fields"])}) for title, options in FIELDSETS]

    def save_model(self, request: HttpRequest, obj: Routine, form: RoutineForm, change: bool) -> None:
        wants, reason = form.changes_in(form.cleaned_data), form.cleaned_data.get("change_reason", "")
        said = {"actor": actor_of(request), "reason": reason, "allow_unknown_task": True}
        if change:
            version = form.cleaned_data.get("read_version") or obj.version
            saved = service.update_routine(obj.pk, version=version, **said, **wants)
        elif form.copied is not None:
            saved = self._copy(form, form.copied, wants, actor_of(request), reason)
        else:
            saved = service.create_routine(wants.pop("name"), task=wants.pop("task"), **said, **wants)
        obj.__dict__.update(saved.__dict__)
        form.saved_fields = sorted(wants)  # type: ignore[attr-defined]
        typed = [obj.task] if form.cleaned_data.get("other_task") else []
        warn_of_tasks(request, [*typed, *(phase_tasks(obj.phases) if "phases" in wants else ())])

    def _copy(self, form: RoutineForm, original: Routine, wants: dict[str, Any], actor: str, reason: str) -> Routine:
        """The service copies what is stored; the form says only what differs, so no mask gets there."""
        wants.pop("name", None)  # the name that was suggested counts as unchanged
        return service.copy_routine(
            original.pk,
            form.cleaned_data["name"],
            paused=form.cleaned_data["start_paused"],
            version=form.cleaned_data.get("read_version") or original.version,
            actor=actor,
            reason=reason,
            **wants,
        )

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: ARG002
        """Who is in the entry itself; this is what and why."""
        reason = form.cleaned_data.get("change_reason", "")
        done = "Added" if add else f"Changed {', '.join(form.saved_fields) or 'nothing'}"
        return f"{done}. Why: {reason}" if reason else f"{done}."


def warn_of_tasks(request: HttpRequest, names: Iterable[str]) -> None:
    """Say once of each that is not registered here what may have been meant: it is saved all the same."""
    for name in dict.fromkeys(name for name in names if name):
        if doubt := service.doubt_about(name):
            told = _("Runs of task {task} fail where no worker knows it: {doubt}")
            messages.warning(request, told.format(task=name, doubt=translated(doubt)))


def phase_tasks(phases: Any) -> list[str]:
    """Plain SQL can put anything there."""
    found = phases if isinstance(phases, list) else []
    return [str(phase.get("task", "")) for phase in found if isinstance(phase, dict)]


def _copied(request: HttpRequest) -> Routine | None:
    """The routine whose copy is asked for, on the page that does."""
    return getattr(request, "routine_copied", None)


def _of_code(fields: list[Any]) -> list[Any]:
    return [field for field in fields if field != "other_task"]


def _rotation_of(object_id: str) -> int | None:
    """The rotation whose own routine this is: what it is made of is changed in its own form."""
    found = service.is_id(object_id) and Rotation.objects.filter(pk=int(object_id)).exists()
    return int(object_id) if found else None


@lru_cache(maxsize=1)
def timezone_names() -> list[str]:
    return sorted(available_timezones())
