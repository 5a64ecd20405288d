"""For pytest: `pytest_plugins = ["routines_app.testing.fixtures"]` in the conftest.py at the top of your tests.

Only this module needs pytest.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from routines_app.core.errors import InvalidValue
from routines_app.testing.frozen import AWARE, FrozenClock, frozen_clock

MARK = "routines_clock"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(at): where the fixture routines_clock stands when the test begins")


@pytest.fixture
def routines_clock(request: pytest.FixtureRequest) -> Iterator[FrozenClock]:
    """A frozen clock for the whole test, at the moment of `@pytest.mark.routines_clock(at)`, or at the present."""
    mark = request.node.get_closest_marker(MARK)
    if mark is not None and (len(mark.args) != 1 or mark.kwargs):
        raise InvalidValue(MARK, mark.args, AWARE)
    with frozen_clock(mark.args[0] if mark is not None else None) as clock:
        yield clock
