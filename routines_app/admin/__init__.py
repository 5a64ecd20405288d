"""The admin, on Django's own admin site.

`routines.py`, `runs.py` (its list is `run_listing.py` by `run_changelist.py`, with `run_list_form.py` above it),
`pools.py` and `rotations.py` register the models; `…_page.py` makes a page, `…_facts.py` what it tells, `charts/`
draws. The buttons of a routine are `verb_buttons.py` (what each is), `verb_acts.py` (what it does), `verb_forms.py`
(what it asks) and `verb_pages.py`; its form is `form.py`, `form_fields.py`, `form_page.py`, with `preview.py` beside
it. The buttons of the queue are `fleet_verbs.py`; those of a rotation and of its members are `rotation_verbs.py` with
`rotation_acts.py` and `rotation_verb_pages.py`, and its form is `rotation_form*.py`.

Everything here calls `routines_app.service` or reads querysets. Nothing writes a routine, a run or a pool itself, wakes
a beat or asks Redis; of `core` only the words, errors and sentences are known. What is shown of arguments, results and
logs is masked.
"""

from routines_app.admin.pools import PoolAdmin
from routines_app.admin.rotations import RotationAdmin
from routines_app.admin.routines import RoutineAdmin
from routines_app.admin.runs import RunAdmin

__all__ = ["PoolAdmin", "RotationAdmin", "RoutineAdmin", "RunAdmin"]
