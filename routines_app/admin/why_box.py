"""The box on a routine's page that says why it ran, or did not, at a moment."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.translating import translated
from routines_app.core.errors import RoutineError
from routines_app.models import Routine

TYPED = "why"


def why_box(request: HttpRequest, routine: Routine) -> dict[str, Any]:
    """What was typed, and the answer or what is wrong with it. Nothing typed asks the database nothing."""
    typed = request.GET.get(TYPED, "").strip()
    if not typed:
        return {"why_typed": ""}
    try:
        answer = service.why_of(routine, service.typed_at(routine, typed))
    except RoutineError as refused:
        return {"why_typed": typed, "why_problem": translated(refused)}
    said = [{"text": translated(sentence.text), "links": _links(routine, sentence)} for sentence in answer.sentences]
    return {"why_typed": typed, "why_said": said}


def _links(routine: Routine, sentence: service.Sentence) -> list[dict[str, str]]:
    history = reverse("admin:routines_routine_history", args=[routine.pk])
    runs = [
        {
            "href": reverse("admin:routines_routinerun_change", args=[run_id]),
            "label": _("run …{end}").format(end=str(run_id)[-6:]),
        }
        for run_id in sentence.runs
    ]
    return runs + [{"href": f"{history}#change-{pk}", "label": _("the change")} for pk in sentence.changes]
