"""Parents and children."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from routines_app import service
from routines_app.models import Routine

Make = Callable[..., Routine]


def test_depth_follows_the_parent_down_the_tree(make: Make) -> None:
    """Moving a routine moves everything below it."""
    a, b, c, d = (make(name) for name in "abcd")
    service.update_routine(c, parent=b)
    service.update_routine(d, parent="c")
    service.update_routine(b, parent=a.pk)
    assert dict(Routine.objects.values_list("name", "depth")) == {"a": 0, "b": 1, "c": 2, "d": 3}
    service.update_routine(c, parent=None)
    assert dict(Routine.objects.values_list("name", "depth")) == {"a": 0, "b": 1, "c": 0, "d": 1}


def test_a_routine_below_itself_is_refused(make: Make) -> None:
    """Neither directly nor through others."""
    a, b = make("a"), make("b")
    service.update_routine(b, parent=a)
    for parent in (a, b):
        with pytest.raises(service.InvalidValue, match="not below this one"):
            service.update_routine(a, parent=parent)
