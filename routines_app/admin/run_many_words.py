"""What the page for many runs says: of each of its verbs, and why runs were passed over."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext_lazy

from routines_app import service

# Behind their number, which decides the form in languages whose verbs have one for many.
PASSED_OVER = {
    service.PassedOver.NOT_FAILED: ngettext_lazy(
        "did not fail, or not any more", "did not fail, or not any more", "count"
    ),
    service.PassedOver.GOES_ON: ngettext_lazy("have a later attempt", "have a later attempt", "count"),
    service.PassedOver.DONE_AGAIN: ngettext_lazy(
        "were asked for again already", "were asked for again already", "count"
    ),
    service.PassedOver.ACTIVE: ngettext_lazy(
        "belong to a routine that runs one at a time, and another run of it is active",
        "belong to a routine that runs one at a time, and another run of it is active",
        "count",
    ),
    service.PassedOver.ENDED: ngettext_lazy("had ended already", "had ended already", "count"),
    service.PassedOver.GONE: ngettext_lazy("are not there any more", "are not there any more", "count"),
    service.PassedOver.HELD: ngettext_lazy(
        "were held by somebody else: try these again in a moment",
        "were held by somebody else: try these again in a moment",
        "count",
    ),
    service.PassedOver.ARCHIVED: ngettext_lazy(
        "belong to an archived routine", "belong to an archived routine", "count"
    ),
    service.PassedOver.SHADOW: ngettext_lazy(
        "belong to a routine in shadow: an old scheduler still fires it",
        "belong to a routine in shadow: an old scheduler still fires it",
        "count",
    ),
    service.PassedOver.REFUSED: ngettext_lazy(
        "were refused: the Retry of their own page says why",
        "were refused: the Retry of their own page says why",
        "count",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyPage:
    """One of the two verbs, as its page says it."""

    verb: service.ManyVerb
    title: Promise
    permission: str
    explains: Promise
    past: str
    """For the history, which is in English."""
    danger: bool = False


PAGES = {
    "retry": ManyPage(
        verb=service.ManyVerb.RETRY,
        title=gettext_lazy("Retry many runs"),
        permission="run_routine",
        explains=gettext_lazy(
            "Asks again, by hand and at once, for each failure that no later attempt follows, with the same"
            " arguments. What was asked for again already is passed over."
        ),
        past="Asked again for",
    ),
    "cancel": ManyPage(
        verb=service.ManyVerb.CANCEL,
        title=gettext_lazy("Cancel many runs"),
        permission="cancel_routinerun",
        explains=gettext_lazy("Cancels what waits, and asks what is running to stop. Their retries go with them."),
        past="Cancelled or asked to stop",
        danger=True,
    ),
}
