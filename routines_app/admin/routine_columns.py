"""The columns of the routines list."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from routines_app.admin.charts import sparkline
from routines_app.admin.due_markup import next_fire, status_pill
from routines_app.admin.markup import NOTHING, chips, moment
from routines_app.admin.member_facts import membership_of
from routines_app.admin.phrases import schedule_in_words, source_in_words
from routines_app.admin.recent import Recent
from routines_app.admin.verb_buttons import rotates
from routines_app.core.words import CatchUpPolicy, ConcurrencyPolicy, Priority, Source, TriggerKind
from routines_app.models import Routine, RoutineState

GOOD, FAIR = 0.95, 0.8
OVERDUE = gettext_lazy("A body that was to stop runs on and cannot be stopped.")


POLICIES: dict[str, Any] = {
    ConcurrencyPolicy.FORBID: gettext_lazy("forbid overlap"),
    ConcurrencyPolicy.REPLACE: gettext_lazy("replace overlap"),
    ConcurrencyPolicy.QUEUE: gettext_lazy("queue overlap"),
    CatchUpPolicy.LAST: gettext_lazy("catch up last"),
    CatchUpPolicy.ALL: gettext_lazy("catch up all"),
    Priority.LOW: gettext_lazy("low priority"),
    Priority.HIGH: gettext_lazy("high priority"),
}
"""Those that are no default."""


class RoutineColumns:
    """Display methods; the list's rows carry what they need (`RoutineChangeList`)."""

    @admin.display(description=gettext_lazy("routine"), ordering="name")
    def title(self, routine: Routine) -> SafeString:
        page = reverse("admin:routines_routine_overview", args=[routine.pk])
        listed = reverse("admin:routines_routine_changelist")
        tags = ((listed, urlencode({"tag": tag}), tag) for tag in _tags(routine))
        return format_html(
            '<a class="rt-name" href="{}">{}</a>{}<div class="rt-under"><code>{}</code> {}</div>',
            page,
            routine.name,
            _rotation_chip(routine),
            routine.task,
            format_html_join(" ", '<a class="rt-chip rt-tag" href="{}?{}">{}</a>', tags),
        )

    @admin.display(description=gettext_lazy("state"), ordering="status")
    def state_pill(self, routine: Routine) -> SafeString:
        state = state_of(routine)
        shown = status_pill(routine, state)
        if state is not None and state.failure_count:
            failed = ngettext("{count} failed", "{count} failed", state.failure_count).format(count=state.failure_count)
            shown += format_html(' <span class="rt-pill rt-is-failed">{}</span>', failed)
        if getattr(routine, "overdue", False):
            late = pgettext("a run that cannot be stopped", "overdue")
            shown += format_html(' <span class="rt-pill rt-is-failed" title="{}">{}</span>', OVERDUE, late)
        if routine.shadow:
            fired = _("{scheduler} fires it").format(scheduler=routine.fired_by)
            shown += format_html(' <span class="rt-pill rt-is-skipped" title="{}">{}</span>', fired, _("shadow"))
        if routine.paused_until:
            until = format_html(_("until {moment}"), moment=moment(routine.paused_until))
            shown += format_html('<div class="rt-under">{}</div>', until)
        return shown

    @admin.display(description=gettext_lazy("schedule"))
    def schedule(self, routine: Routine) -> SafeString:
        if (kept := membership_of(routine)) is not None:
            return kept.markup
        words = schedule_of(routine)
        if routine.trigger_kind != TriggerKind.CRON:
            return format_html("{}", words)
        return format_html('{}<div class="rt-under"><code>{}</code></div>', words, routine.cron)

    @admin.display(description=gettext_lazy("next fire"), ordering="state__next_run_at")
    def next_fire(self, routine: Routine) -> SafeString:
        state = state_of(routine)
        if state is None:
            return NOTHING
        is_kept_fresh = routine.rotation_id is not None and state.next_source == Source.MANUAL
        why = _("when it is picked") if is_kept_fresh else source_in_words(state.next_source)
        return format_html('{}<div class="rt-under">{}</div>', next_fire(state.next_run_at), why)

    @admin.display(description=gettext_lazy("last 30 slots, success"))
    def last_runs(self, routine: Routine) -> SafeString:
        recent = recent_of(routine)
        shown = format_html('<div class="rt-runs">{}{}</div>', sparkline(recent.bars), success_rate(recent))
        return shown + format_html('<div class="rt-under">{}</div>', words) if (words := retried(recent)) else shown

    @admin.display(description=gettext_lazy("policies"))
    def policies(self, routine: Routine) -> SafeString:
        return chips(policy_words(routine)) or NOTHING


def _rotation_chip(routine: Routine) -> SafeString | str:
    """A rotation's own routine leads to its page."""
    if not rotates(routine):
        return ""
    page = reverse("admin:routines_rotation_overview", args=[routine.pk])
    return format_html(' <a class="rt-chip rt-tag" href="{}">{}</a>', page, _("rotation"))


def _tags(routine: Routine) -> list[str]:
    """Plain SQL can put anything there."""
    return routine.tags if isinstance(routine.tags, list) else []


def success_rate(recent: Recent) -> SafeString:
    """How many of the slots that ended by themselves succeeded in the end."""
    rate = recent.success_rate
    if rate is None:
        return NOTHING
    grade = "good" if rate >= GOOD else "fair" if rate >= FAIR else "bad"
    return format_html('<span class="rt-rate rt-{}">{} %</span>', grade, percentage(rate))


def percentage(rate: float) -> str:
    """In whole numbers; 100 only when all of them did, and 0 only when none did."""
    return f"{min(max(rate * 100, 1 if rate else 0), 99 if rate < 1 else 100):.0f}"


def retried(recent: Recent) -> str:
    """Apart from the rate: a slot that needed three attempts is a success all the same."""
    if not recent.retried:
        return ""
    said = ngettext("{count} of {all} needed retries", "{count} of {all} needed retries", recent.retried)
    return said.format(count=recent.retried, all=len(recent.counted))


def policy_words(routine: Routine) -> list[str]:
    """What differs from the defaults, in a few words."""
    codes = (routine.concurrency_policy, routine.catch_up_policy, routine.priority)
    words = [str(POLICIES[code]) for code in codes if code in POLICIES]
    if routine.pool is not None:
        words.append(_("pool {name}").format(name=routine.pool.name))
    if routine.is_declared_in_code:
        words.append(_("declared in code"))
    return words


def schedule_of(routine: Routine) -> str:
    return schedule_in_words(routine.trigger_kind, routine.cron, routine.interval_ms, routine.timezone, routine.once_at)


def state_of(routine: Routine) -> RoutineState | None:
    """The routine's state; None for a row that was written without one."""
    return getattr(routine, "state", None)


def recent_of(routine: Routine) -> Recent:
    found: Recent = getattr(routine, "recent", None) or Recent()
    return found
