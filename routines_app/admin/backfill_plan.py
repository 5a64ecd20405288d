"""What the page of a backfill says before it does anything: how many runs it would make."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.refusals import refuse
from routines_app.admin.verb_buttons import Verb
from routines_app.core.errors import RoutineError
from routines_app.models import Routine
from routines_app.service import BackfillPlan


def plan_of(verb: Verb, routine: Routine, form: Any) -> BackfillPlan | None:
    """What there is to confirm; None when it was, when it is refused, or when the verb is another one.

    The page sends back what it has said: a stretch that was changed since, or has other slots by now, is told anew.
    """
    if verb.slug != "backfill":
        return None
    try:
        plan = service.plan_backfill(routine, form.wants["start"], form.wants["end"])
    except RoutineError as refused:
        refuse(form, refused)
        return None
    if not plan.slots:
        form.add_error("end", _("No slot of its schedule is in this stretch."))
        return None
    told = f"{len(plan.slots)}:{plan.slots[0].isoformat()}:{plan.slots[-1].isoformat()}"
    if form.wants.get("counted") == told:
        return None
    form.data = form.data.copy()
    form.data["counted"] = told
    return plan
