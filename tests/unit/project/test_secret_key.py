"""A key that is made once, whoever comes first, and that nobody else may read."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.core.exceptions import ImproperlyConfigured

from project import secret_key as module
from project.secret_key import kept_secret_key

TOGETHER = 16


def test_of_many_that_come_at_once_all_have_the_first_ones_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them have seen that there is none, and each has made one."""
    file, barrier, make = tmp_path / "key", Barrier(TOGETHER), module._make

    def make_together(file: Path) -> None:
        barrier.wait(10)
        make(file)

    monkeypatch.setattr(module, "_make", make_together)
    with ThreadPoolExecutor(TOGETHER) as starts:
        keys = set(starts.map(kept_secret_key, [file] * TOGETHER))
    assert keys == {kept_secret_key(file)}
    assert list(tmp_path.iterdir()) == [file], "what the others wrote is gone"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text("known")
    file.chmod(mode)
    with pytest.raises(ImproperlyConfigured, match="others may read"):
        kept_secret_key(file)


def test_no_key_is_no_start(tmp_path: Path) -> None:
    """An empty file, or a place where none can be kept: it says what to do."""
    file = tmp_path / "key"
    file.touch(0o600)
    with pytest.raises(ImproperlyConfigured, match="is empty: remove it, or set SECRET_KEY"):
        kept_secret_key(file)
    with pytest.raises(ImproperlyConfigured, match="set SECRET_KEY: none can be kept in"):
        kept_secret_key(tmp_path / "nowhere" / "key")
