"""How often, how far apart and per what, in words: `Every hour`, `Every 10 minutes`, `10 minutes`."""

from __future__ import annotations

from typing import Literal

from django.utils.translation import ngettext, npgettext

Unit = Literal["day", "hour", "minute", "second"]


def every(unit: Unit, count: int) -> str:
    """`Every hour`, `Every 10 minutes`: a sentence of each unit, for no language puts them together alike."""
    match unit:
        case "day":
            said = ngettext("Every day", "Every {count} days", count)
        case "hour":
            said = ngettext("Every hour", "Every {count} hours", count)
        case "minute":
            said = ngettext("Every minute", "Every {count} minutes", count)
        case "second":
            said = ngettext("Every second", "Every {count} seconds", count)
    return said.format(count=count)


def apart(unit: Unit, count: int) -> str:
    """`hour`, `10 minutes`: what follows *every*; a language may say `1 hour` of one."""
    match unit:
        case "day":
            said = npgettext("how far apart", "day", "{count} days", count)
        case "hour":
            said = npgettext("how far apart", "hour", "{count} hours", count)
        case "minute":
            said = npgettext("how far apart", "minute", "{count} minutes", count)
        case "second":
            said = npgettext("how far apart", "second", "{count} seconds", count)
    return said.format(count=count)


def per(unit: Unit, count: int) -> str:
    """`hour`, `10 minutes`: what follows *per*, where none would say `1 hour`."""
    match unit:
        case "day":
            said = npgettext("per so much time", "day", "{count} days", count)
        case "hour":
            said = npgettext("per so much time", "hour", "{count} hours", count)
        case "minute":
            said = npgettext("per so much time", "minute", "{count} minutes", count)
        case "second":
            said = npgettext("per so much time", "second", "{count} seconds", count)
    return said.format(count=count)
