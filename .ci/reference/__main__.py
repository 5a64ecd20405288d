"""`PYTHONPATH=.ci python -m reference`: write what is made of code in docs/. `--check`: say what is not up to date.

Each page says what the code says about itself (docstrings, signatures, the parser's help, the models' permissions), so
that it cannot drift from it. `make reference` writes them; `make check` and a test ask whether they are up to date.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def pages() -> dict[str, str]:
    """Each page's name and text."""
    from reference import commands, pictures, service, settings, words

    return {
        "settings.md": settings.page(),
        "service.md": service.page(),
        "commands.md": commands.page(),
        "reference.md": words.page(),
        **pictures.files(),
    }


def stale(found: dict[str, str]) -> list[str]:
    """The names of pages that do not say what the code says."""
    return [name for name, text in found.items() if not is_written(DOCS / name, text)]


def is_written(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    import django

    django.setup()
    found = pages()
    late = stale(found)
    if "--check" in sys.argv:
        print(
            "\n".join(f"docs/{name} is not what the code says: run `make reference`" for name in late) or "up to date"
        )
        return int(bool(late))
    for name in late:
        (DOCS / name).write_text(found[name], encoding="utf-8")
        print(f"written: docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
