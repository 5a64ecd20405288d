"""The page that adds and changes a rotation: it hands the form to the service and shows what the service refuses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from routines_app import service
from routines_app.admin.form_page import phase_tasks, timezone_names, warn_of_tasks
from routines_app.admin.log_entries import actor_of
from routines_app.admin.permissions import may
from routines_app.admin.rotation_acts import for_a_moment
from routines_app.admin.rotation_form import RotationForm
from routines_app.admin.translating import translated
from routines_app.admin.verb_acts import OutOfTime
from routines_app.core.errors import RoutineError
from routines_app.models import Rotation

FIELDSETS: list[Any] = [
    (None, {"fields": ["name", "description", "tags"]}),
    (
        gettext_lazy("When it ticks"),
        {"fields": ["trigger_kind", "interval_ms", "cron", "timezone"], "classes": ["rt-when"]},
    ),
    (gettext_lazy("How much at a time"), {"fields": [("budget", "max_in_flight"), ("fresh_for_ms", "depth_weight")]}),
    (gettext_lazy("What a cycle runs"), {"fields": ["phases"]}),
    (gettext_lazy("Seeding"), {"fields": ["seed", "member_task", "other_task", "archive_vanished"]}),
    (gettext_lazy("Why"), {"fields": ["change_reason", "read_version"]}),
]
CREATED_AS = {"member_task": "task"}


class RotationFormPage(admin.ModelAdmin):  # type: ignore[type-arg]
    """The part of the rotation admin that adds and changes."""

    form = RotationForm
    fieldsets = FIELDSETS
    change_form_template = "routines/rotation_form.html"
    save_on_top = False
    view_on_site = False

    @method_decorator(sensitive_post_parameters("phases"))
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if object_id is not None and not self.has_change_permission(request):
            return self._looked_at(request, object_id)
        may_preview = may(request, "add_routine") or may(request, "change_routine")
        context = {"section": "rotations", "timezones": timezone_names(), "may_preview": may_preview}
        context |= extra_context or {}
        try:
            return super().changeform_view(request, object_id, form_url, context)
        except (OutOfTime, RoutineError) as stopped:
            if object_id is not None and hasattr(request, "rotation_is_saved"):
                return self._unfinished(request, object_id)
            # Nothing was written. Render the form again, with the refusal where it can be mended.
            request.rotation_refused = stopped  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, context)

    def _unfinished(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The change is written; its members follow in batches, of which the time allowed only some."""
        told = _("Saved. Not all of its fresh members have the new time yet: save it again to go on.")
        self.message_user(request, told, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:routines_rotation_change", args=[unquote(object_id)]))

    def _looked_at(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Django's read-only form would show phases unmasked; the page of the rotation shows everything."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rotation = self.get_object(request, unquote(object_id))
        if rotation is None:
            raise Http404(_("There is no such rotation."))
        return HttpResponseRedirect(reverse("admin:routines_rotation_overview", args=[rotation.pk]))

    def get_form(self, request: HttpRequest, obj: Rotation | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Every field is declared: none is to be made from the model."""
        made: Any = super().get_form(request, obj, change=change, **(kwargs | {"fields": []}))
        made.refused = getattr(request, "rotation_refused", None)
        return made

    def save_model(self, request: HttpRequest, obj: Rotation, form: RotationForm, change: bool) -> None:
        wants, reason = form.changes_in(form.cleaned_data), form.cleaned_data.get("change_reason", "")
        said = {"actor": actor_of(request), "reason": reason, "allow_unknown_task": True}
        if change:
            version = form.cleaned_data.get("read_version") or obj.routine.version
            saved = service.update_rotation(obj.pk, version=version, progress=for_a_moment(), **said, **wants)
            request.rotation_is_saved = True  # type: ignore[attr-defined]
        else:
            given = {CREATED_AS.get(name, name): value for name, value in wants.items()}
            given["fresh_for"] = timedelta(milliseconds=given.pop("fresh_for_ms"))
            saved = service.create_rotation(given.pop("name"), **said, **given)
        obj.__dict__.update(saved.__dict__)
        obj._state.fields_cache["routine"] = saved.routine  # its name is told
        form.saved_fields = sorted(wants)  # type: ignore[attr-defined]
        warn_of_tasks(request, [saved.member_task, *phase_tasks(saved.phases)])
        if "seed" in wants and saved.seed and (doubt := service.doubt_about_seed(saved.seed)):
            told = _("Callable {seed}: {doubt}. Its seedings fail where no worker can import it.")
            messages.warning(request, told.format(seed=saved.seed, doubt=translated(doubt)))

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: ARG002
        """Who is in the entry itself; this is what and why."""
        reason = form.cleaned_data.get("change_reason", "")
        done = "Added" if add else f"Changed {', '.join(form.saved_fields) or 'nothing'}"
        return f"{done}. Why: {reason}" if reason else f"{done}."

    def response_add(self, request: HttpRequest, obj: Rotation, post_url_continue: str | None = None) -> HttpResponse:
        return self._to_overview(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Rotation) -> HttpResponse:
        return self._to_overview(request, obj) or super().response_change(request, obj)

    def _to_overview(self, request: HttpRequest, obj: Rotation) -> HttpResponse | None:
        """After saving, look at the rotation; the other buttons do what they do everywhere in the admin."""
        if {"_continue", "_addanother", "_saveasnew", "_popup"} & request.POST.keys():
            return None
        self.message_user(request, _("Saved {name}.").format(name=obj.name))
        return HttpResponseRedirect(reverse("admin:routines_rotation_overview", args=[obj.pk]))
