"""Which routines a verb is about: one, or all with a tag, in a group, on a queue or in a pool."""

from __future__ import annotations

from django.db import connections
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from routines_app.core.errors import InvalidValue
from routines_app.core.said import said
from routines_app.core.words import RoutineStatus
from routines_app.models import Pool, Routine
from routines_app.protocol.ledger.database import ledger_alias
from routines_app.verbs.checking.lookup import RoutineRef, find_pool
from routines_app.verbs.checking.rules import Text

LABEL = Text(longest=255, required=True)


def selected(
    *,
    routine: RoutineRef | None,
    tag: str | None,
    group: str | None,
    queue: str | None,
    pool: Pool | int | str | None,
) -> QuerySet[Routine] | None:
    """The routines that are meant, archived ones left out; None when it is the one `routine`. Exactly one is given."""
    choices = {"routine": routine, "tag": tag, "group": group, "queue": queue, "pool": pool}
    given = {field: value for field, value in choices.items() if value is not None}
    if len(given) != 1:
        told = " and ".join(given) or "none of them"
        raise InvalidValue("routine", told, said("give exactly one of {these}", these=", ".join(choices)))
    routines = Routine.objects.using(ledger_alias()).exclude(status=RoutineStatus.ARCHIVED)
    if tag is not None:
        return tagged(routines, LABEL("tag", tag))
    if group is not None:
        return routines.filter(group=LABEL("group", group))
    if queue is not None:
        return routines.filter(queue=LABEL("queue", queue))
    return None if pool is None else routines.filter(in_pool(find_pool(pool)))


def in_pool(pool: Pool) -> Q:
    """Those that name it; the default pool has those that name none, too."""
    return Q(pool=pool) | Q(pool=None) if pool.is_default else Q(pool=pool)


def tagged(routines: QuerySet[Routine], tag: str) -> QuerySet[Routine]:
    """Those of the routines that have the tag."""
    if connections[routines.db].vendor != "sqlite":
        return routines.filter(tags__contains=[tag])
    each = RawSQL("EXISTS (SELECT 1 FROM json_each(routines_routine.tags) WHERE value = %s)", [tag], BooleanField())
    return routines.filter(each)
