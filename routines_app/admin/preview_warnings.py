"""What a person should know before saving a routine. Warnings, not refusals: each may be what is wanted."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.admin.daylight import daylight_warnings
from routines_app.admin.phrases import seconds_in_words
from routines_app.admin.recent import recent_runs
from routines_app.core.words import ConcurrencyPolicy
from routines_app.models import Node, Role, Routine
from routines_app.service import CronTrigger, ManualTrigger, OnceTrigger, Trigger, next_slot, slots_between

WORKERS = 1_000  # that are asked for their queues
LOOKED_AT = 50  # fires whose distance is compared with the usual duration

OVERLAPS = {
    ConcurrencyPolicy.ALLOW: gettext_lazy(
        "{interval} is shorter than its usual duration of {usual}: runs will overlap."
    ),
    ConcurrencyPolicy.FORBID: gettext_lazy(
        "{interval} is shorter than its usual duration of {usual}: "
        "slots will be skipped because the run before is still active."
    ),
    ConcurrencyPolicy.REPLACE: gettext_lazy(
        "{interval} is shorter than its usual duration of {usual}: runs will be replaced before they finish."
    ),
    ConcurrencyPolicy.QUEUE: gettext_lazy(
        "{interval} is shorter than its usual duration of {usual}: "
        "slots will wait for the run before, and all but the newest of them will be skipped."
    ),
}


def warnings_about(data: QueryDict, trigger: Trigger, saved: Routine | None, now: datetime) -> list[str]:
    return [
        *_never(trigger, now),
        *(daylight_warnings(trigger, now) if isinstance(trigger, CronTrigger) else ()),
        *_task(data.get("other_task", "").strip() or data.get("task", "")),
        *_queue(data.get("queue", "").strip(), now),
        *_overlap(trigger, saved, data.get("concurrency_policy", ""), now),
    ]


def _never(trigger: Trigger, now: datetime) -> list[str]:
    if isinstance(trigger, ManualTrigger) or next_slot(trigger, now) is not None:
        return []
    if isinstance(trigger, OnceTrigger) and trigger.at <= now:
        return [_("Never fires: its moment is over.")]
    return [_("Never fires: its end comes before its next slot.")]


def _task(name: str) -> list[str]:
    if not name or name in service.registered_tasks():
        return []
    return [_("Task not registered: {task}.").format(task=name)]


def _queue(queue: str, now: datetime) -> list[str]:
    """Whether a living worker takes from the queue; a worker that reports no queues may take any."""
    if not queue:
        return []
    workers = Node.objects.using(service.ledger_alias()).filter(service.readable("seen_at"), role=Role.WORKER)
    rows = workers.values_list("seen_at", "queues")[:WORKERS]
    consumed = [queues for seen_at, queues in rows if service.presence(seen_at, now) is not service.Presence.GONE]
    if not consumed:
        return [_("No worker consumes queue {queue}: no worker is running.").format(queue=queue)]
    if any(not queues or queue in queues for queues in consumed):
        return []
    return [_("No worker consumes queue {queue}.").format(queue=queue)]


def _overlap(trigger: Trigger, saved: Routine | None, policy: str, now: datetime) -> list[str]:
    if saved is None or isinstance(trigger, ManualTrigger):
        return []
    usual = recent_runs([saved.pk], using=service.ledger_alias())[saved.pk].usual_seconds
    slots = slots_between(trigger, now, now + timedelta(days=366), LOOKED_AT).slots
    shortest = min(((later - slot).total_seconds() for slot, later in pairwise(slots)), default=None)
    if usual is None or shortest is None or shortest >= usual:
        return []
    known = ConcurrencyPolicy(policy) if policy in set(ConcurrencyPolicy) else ConcurrencyPolicy.ALLOW
    return [OVERLAPS[known].format(interval=seconds_in_words(shortest), usual=seconds_in_words(usual))]
