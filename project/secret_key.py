"""A secret key that is made on the first start, for whoever gives none: better than one that everybody knows."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

OTHERS = 0o077  # the permissions of everybody but the owner


def kept_secret_key(file: Path) -> str:
    """The key in the file, which is made if it is not there. Its owner alone may read it."""
    try:
        if not file.exists():
            _make(file)
        key = _read(file)
    except OSError as error:
        raise ImproperlyConfigured(f"set SECRET_KEY: none can be kept in {file} ({error.strerror})") from error
    if not key:
        raise ImproperlyConfigured(f"{file} is empty: remove it, or set SECRET_KEY")
    return key


def _make(file: Path) -> None:
    """Web, worker and beat start together: the first one's key is everybody's, and nobody sees half of it."""
    descriptor, written = tempfile.mkstemp(dir=file.parent, prefix=f"{file.name}-")  # for its owner alone
    try:
        with os.fdopen(descriptor, "w") as output:
            output.write(get_random_secret_key())
        os.link(written, file)  # all of it at once; and, unlike a rename, never in place of another one's
    except FileExistsError:
        return
    finally:
        os.unlink(written)


def _read(file: Path) -> str:
    with file.open() as opened:
        if os.fstat(opened.fileno()).st_mode & OTHERS:
            raise ImproperlyConfigured(f"others may read {file}: remove it, or set SECRET_KEY")
        return opened.read().strip()
