"""Acting on many runs: a page that says how many are meant, and then does it in pieces, each a request of its own.

The form carries all that is needed to go on: the filter with fixed times or the ids that were chosen, the id that all
of them were made before, where the next piece begins, and what was done so far. Every piece can be sent again, by a
reload or a second click, and does nothing twice: retries have keys of the batch, and what has ended is not cancelled.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from routines_app import service
from routines_app.admin.log_entries import actor_of, note_of_all
from routines_app.admin.permissions import may
from routines_app.admin.run_many_words import PAGES, PASSED_OVER, ManyPage
from routines_app.admin.run_question import Question
from routines_app.admin.verb_acts import SECONDS
from routines_app.admin.verb_forms import VerbForm
from routines_app.models import RoutineRun

if TYPE_CHECKING:
    from routines_app.admin.runs import RunAdmin

AT_ONCE = 25  # runs between two looks at the clock
CHOSEN_AT_MOST = 1_000
DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What the form carries from piece to piece."""

    token: str
    question: str
    """The filter as an address; empty where runs were chosen."""
    chosen: tuple[uuid.UUID, ...] | None
    """Those of the chosen runs that are left; None: a filter says which."""
    before: uuid.UUID | None
    """Where the next piece begins; None: nothing is left."""
    count: int
    is_all: bool
    tally: Counter[str]

    @property
    def done(self) -> int:
        return self.tally[DONE]

    @property
    def seen(self) -> int:
        return self.tally.total()

    @property
    def is_over(self) -> bool:
        return self.before is None and not self.chosen

    @property
    def carried(self) -> dict[str, str]:
        """The fields of the form."""
        return {
            "token": self.token,
            "question": self.question,
            "chosen": "" if self.chosen is None else ",".join(map(str, self.chosen)),
            "before": str(self.before or ""),
            "count": str(self.count),
            "is_all": "1" if self.is_all else "",
            "tally": ",".join(f"{name}:{number}" for name, number in self.tally.items()),
        }

    @property
    def passed_over(self) -> list[tuple[int, str]]:
        counts = ((self.tally[why], words) for why, words in PASSED_OVER.items())
        return [(count, words.format(count=count)) for count, words in counts if count]

    @classmethod
    def posted(cls, form: Mapping[str, str]) -> Batch:
        try:
            return cls(
                token=_token(form["token"]),
                question=_storable(form["question"]),
                chosen=read_ids(form["chosen"]) if not form["question"] else None,
                before=uuid.UUID(form["before"]) if form["before"] else None,
                count=_number(form["count"]),
                is_all=form["is_all"] == "1",
                tally=_tally(form["tally"]),
            )
        except (KeyError, ValueError):
            raise BadRequest(_("Open the page again, and press its button.")) from None


def read_ids(text: str) -> tuple[uuid.UUID, ...]:
    """Ids with commas between; a ValueError where one is none, or where there are too many."""
    parts = [part for part in text.split(",") if part]
    if len(parts) > CHOSEN_AT_MOST:
        raise ValueError(text[:100])
    return tuple(dict.fromkeys(uuid.UUID(part) for part in parts))


def _storable(text: str) -> str:
    """The history keeps it."""
    if not service.is_storable(text):
        raise ValueError(text[:100])
    return text


def _token(text: str) -> str:
    return uuid.UUID(text).hex


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError(text[:100])
    return int(text)


def _tally(text: str) -> Counter[str]:
    known = {DONE, *PASSED_OVER}
    pairs = (part.partition(":") for part in text.split(",") if part)
    return Counter({name: _number(number) for name, _colon, number in pairs if name in known})


def many_page(admin: RunAdmin, request: HttpRequest, slug: str) -> HttpResponse:
    """GET says how many a filter means; POST does the next piece, and asks to go on."""
    page = _allowed(admin, request, slug)
    if request.method != "POST":
        return ask_about_filter(admin, request, page)
    batch, form = Batch.posted(request.POST.dict()), VerbForm(request.POST)
    if not form.is_valid():
        return _shown(admin, request, page, batch, form, began=False)
    batch = _acted(request, page, batch, form.wants.get("reason", ""))
    return _shown(admin, request, page, batch, form, began=True)


def _allowed(admin: RunAdmin, request: HttpRequest, slug: str) -> ManyPage:
    page = PAGES.get(slug)
    if page is None:
        raise Http404(_("There is no verb {verb} for many runs.").format(verb=slug))
    if not admin.has_view_permission(request) or not may(request, page.permission):
        raise PermissionDenied
    return page


def ask_about_filter(admin: RunAdmin, request: HttpRequest, page: ManyPage) -> HttpResponse:
    asked = Question.of(request.GET, service.now())
    if asked.meant is None or asked.run_id is not None:
        return _shown(admin, request, page, None, VerbForm(), began=False, asked=asked)
    before = service.oldest_run_id(service.now())
    counted = service.count_for(page.verb, asked.meant, before=before)
    batch = Batch(
        token=uuid.uuid4().hex,
        question=asked.fixed() or "range=",  # a filter that says nothing is one too
        chosen=None,
        before=before,
        count=counted.count,
        is_all=counted.is_all,
        tally=Counter(),
    )
    return _shown(admin, request, page, batch, VerbForm(), began=False, asked=asked)


def ask_about_chosen(
    admin: RunAdmin, request: HttpRequest, page: ManyPage, chosen: tuple[uuid.UUID, ...]
) -> HttpResponse:
    batch = Batch(
        token=uuid.uuid4().hex,
        question="",
        chosen=chosen,
        before=None,
        count=len(chosen),
        is_all=True,
        tally=Counter(),
    )
    return _shown(admin, request, page, batch, VerbForm(), began=False)


def _acted(request: HttpRequest, page: ManyPage, batch: Batch, reason: str) -> Batch:
    """For a second: whoever has more is asked to go on, so no request takes long."""
    stop_at, before = time.monotonic() + SECONDS, batch.done
    while not batch.is_over:
        batch = _next_piece(request, page, batch, reason)
        if time.monotonic() > stop_at:
            break
    if batch.done > before:
        count = batch.done - before
        done = f"{page.past} {count:,} run{'' if count == 1 else 's'}"
        note_of_all(request, RoutineRun, batch.question or "chosen runs", done, reason)
    return batch


def _next_piece(request: HttpRequest, page: ManyPage, batch: Batch, reason: str) -> Batch:
    if batch.chosen is not None:
        ids, left, before = batch.chosen[:AT_ONCE], batch.chosen[AT_ONCE:], None
    else:
        piece = _piece(page, batch)
        ids, left, before = piece.runs, None, piece.before
    if page.verb == service.ManyVerb.RETRY:
        made = service.retry_runs(ids, batch=batch.token, requested_by=actor_of(request))
    else:
        made = service.cancel_runs(ids, reason=reason, actor=actor_of(request))
    tally = batch.tally + Counter({DONE: len(made.done)}) + Counter(why.value for _run, why, _told in made.passed_over)
    return replace(batch, chosen=left, before=before, tally=tally)


def _piece(page: ManyPage, batch: Batch) -> service.Piece:
    asked = Question.of(QueryDict(batch.question), service.now())
    if (
        asked.meant is None or asked.run_id is not None or batch.before is None
    ):  # a pool or a routine has gone meanwhile: nothing more is meant
        return service.Piece(runs=(), before=None)
    return service.piece_for(page.verb, asked.meant, before=batch.before, limit=AT_ONCE)


def _shown(
    admin: RunAdmin,
    request: HttpRequest,
    page: ManyPage,
    batch: Batch | None,
    form: VerbForm,
    *,
    began: bool,
    asked: Question | None = None,
) -> TemplateResponse:
    asked = asked or Question.of(QueryDict(batch.question if batch else ""), service.now())
    context = {
        **admin.admin_site.each_context(request),
        "title": page.title,
        "opts": admin.model._meta,
        "section": "runs",
        "page": page,
        "batch": batch,
        "form": form,
        "asked": asked,
        "began": began,
        "action": reverse("admin:routines_run_many", args=[page.verb.value]),
        "back": reverse("admin:routines_routinerun_changelist") + (f"?{batch.question}" if batch else ""),
        "most": max(batch.count, batch.seen) if batch else 0,
    }
    wrong = batch is None or bool(form.errors)
    return TemplateResponse(request, "routines/run_many.html", context, status=422 if wrong else 200)
