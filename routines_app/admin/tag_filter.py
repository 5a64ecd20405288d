"""The filter by tags: one or several, all of them or any."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from operator import and_, or_
from typing import Any

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import ChangeList
from django.db import connections
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from routines_app import service
from routines_app.models import Routine

LOOKED_AT = 1_000  # of the newest routines: all would be a million
OFFERED = 12
CHOSEN = 8  # each is a condition
ANY = "any"


class TagFilter(ListFilter):
    """`?tag=a&tag=b`: routines with both; with `&tags=any`, those with either. Offers what is common among the newest
    routines; a routine's own tags lead here too."""

    title = gettext_lazy("tag")
    parameter_name = "tag"
    parameter_names = ("tag", "tags")

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        given = params.pop("tag", [])
        self.chosen = list(dict.fromkeys(tag for tag in given if tag))[:CHOSEN]
        self.is_any = params.pop("tags", [""])[-1] == ANY
        self.used_parameters.update({"tag": self.chosen} if self.chosen else {})
        self.offered = [*self.chosen, *(tag for tag in common_tags() if tag not in self.chosen)]

    def has_output(self) -> bool:
        return bool(self.offered)

    def expected_parameters(self) -> list[str | None]:
        return list(self.parameter_names)

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Each tag adds itself to what is chosen, or takes itself away."""
        yield _choice(_("All"), changelist, {"tag": None, "tags": None}, selected=not self.chosen)
        for tag in self.offered:
            is_chosen = tag in self.chosen
            left = [one for one in self.chosen if one != tag] if is_chosen else [*self.chosen, tag]
            yield _choice(tag, changelist, {"tag": left or None}, selected=is_chosen)
        if len(self.chosen) > 1:
            yield _choice(_("(any of them is enough)"), changelist, {"tags": _other(self.is_any)}, selected=self.is_any)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Routine]) -> QuerySet[Routine]:  # noqa: ARG002
        if not self.chosen:
            return queryset
        if connections[queryset.db].vendor == "postgresql":
            each = [Q(tags__contains=[tag]) for tag in self.chosen]
        else:
            queryset = queryset.alias(tag_text=Cast("tags", TextField()))
            each = [Q(tag_text__contains=json.dumps(tag)) for tag in self.chosen]
        return queryset.filter(reduce(or_ if self.is_any else and_, each))


def _choice(shown: str, changelist: ChangeList, params: dict[str, Any], *, selected: bool) -> dict[str, Any]:
    # Django takes the parameters that begin with a removed name away too, so these are replaced one by one.
    return {"selected": selected, "query_string": changelist.get_query_string(params), "display": shown}


def _other(is_any: bool) -> str | None:
    return None if is_any else ANY


def common_tags() -> list[str]:
    """Those that the newest routines have most."""
    newest = Routine.objects.using(service.ledger_alias()).order_by("-pk").values_list("tags", flat=True)[:LOOKED_AT]
    counted = Counter(tag for tags in newest if isinstance(tags, list) for tag in tags if isinstance(tag, str))
    return [tag for tag, _count in counted.most_common(OFFERED)]
