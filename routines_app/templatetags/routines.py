"""Tags for a project's own pages: `{% routine_assets %}` in the head, `{% routine_button "nightly-report" %}` below."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.models import Routine

register = template.Library()


@register.simple_tag
def routine_assets() -> SafeString:
    """The script and style of the button, from static files."""
    return format_html(
        '<link rel="stylesheet" href="{}"><script src="{}" defer></script>',
        static("routines/button.css"),
        static("routines/button.js"),
    )


@register.inclusion_tag("routines/button.html", takes_context=True)
def routine_button(context: dict[str, Any], routine: Routine | int | str, label: str | None = None) -> dict[str, Any]:
    """A button that runs the routine and shows what becomes of the run; nothing for those who may not.

    Works without JavaScript too: the form then returns to this page.
    """
    request: HttpRequest | None = context.get("request")
    may_run = request is not None and request.user.has_perm("routines.run_routine")
    if request is None or not may_run:
        return {"may_run": False}
    found = service.find_routine(routine)
    return {
        "may_run": True,
        "routine": found,
        "label": _("Run now") if label is None else label,
        "token": uuid4().hex,
        "run_url": reverse("routines:run", args=[found.pk]),
        "runs_url": reverse("routines:runs", args=[found.pk]),
        "may_view": request.user.has_perm("routines.view_routine"),
        "next": request.get_full_path(),
        "csrf_token": context.get("csrf_token"),
    }
