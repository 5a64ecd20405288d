"""The documentation can be built: links and anchors lead somewhere, and no page asks another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.pages import ROOT, pages

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does: a warning ends it."""
    site = tmp_path_factory.mktemp("docs") / "site"
    code, printed = build(ROOT / "mkdocs.yml", site)
    assert code == 0, printed
    return site


def build(config: Path, site: Path) -> tuple[int, str]:
    pytest.importorskip("mkdocs", reason="the matrix installs what tests need, not what builds pages")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(site),
    ]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Loads(HTMLParser):
    """What a browser fetches for a page, without being asked."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.drawn_by_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found.append(given.get(LOADED.get(tag, "")) or "")
        self.drawn_by_script |= "mermaid" in (given.get("class") or "").split()


def test_every_page_is_built(site: Path) -> None:
    wanted = {Path(page).with_suffix(".html").name for page in pages()} - {"README.html"}
    assert wanted | {"install.html", "CHANGELOG.html"} <= {path.name for path in site.glob("*.html")}


def test_links_that_lead_nowhere_end_the_build(tmp_path: Path) -> None:
    """By the rules of the real configuration; a page that is not in its nav, too."""
    links = ["[x](nowhere.md)", "[x](#nowhere)", "[x](/index.md)", "![x](nowhere.png)"]
    lines = [f"INHERIT: {ROOT / 'mkdocs.yml'}", "docs_dir: pages", "hooks: []", "extra_css: []", "nav: [index.md]"]
    (tmp_path / "mkdocs.yml").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("\n".join(links), encoding="utf-8")
    (tmp_path / "pages" / "forgotten.md").write_text("", encoding="utf-8")
    code, printed = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert code == 1, printed
    assert f"Aborted with {len(links) + 1} warnings in strict mode" in printed


def test_no_page_asks_another_host(site: Path) -> None:
    """The theme would fetch Mermaid, where an element asks for it."""
    for path in site.rglob("*.html"):
        page = Loads(path.read_text(encoding="utf-8"))
        assert [address for address in page.found if re.match(r"(https?:)?//", address)] == [], path.name
        assert not page.drawn_by_script, path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("page", ['<script src="https://a.example/x.js">', '<link href="//a.example/x.css">'])
def test_one_that_does_would_be_found(page: str) -> None:
    assert [address for address in Loads(page).found if re.match(r"(https?:)?//", address)]
