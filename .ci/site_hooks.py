"""Hooks of mkdocs: what GitHub does by itself and the built pages need help with."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md")  # pages that people look for at the root of a repository

INSTALL = "\n## Install in your project\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Diagrams are shown in words: to draw them the theme would fetch Mermaid from another host."""
    fence = {"name": "mermaid", "class": "diagram", "format": _as_words}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Pages of the root are pages of the site, with links that lead on from there; of the README, how to install."""
    for name in OUTSIDE:
        files.append(File.generated(config, name, content=_read(name)))
    _, heading, rest = _read("README.md").partition(INSTALL)
    section = rest.partition("\n## ")[0]
    files.append(File.generated(config, "install.md", content=f"{heading[2:]}{section}"))
    return files


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to those pages lead to them."""
    markdown = markdown.replace("](../README.md#install-in-your-project)", "](install.md)")
    markdown = markdown.replace("](../README.md)", "](index.md)")
    return re.sub(rf"\]\(\.\./({'|'.join(OUTSIDE)})", r"](\1", markdown)


def _as_words(source: str, *_: Any, **__: Any) -> str:
    shown = f"<pre><code>{escape(source)}</code></pre>"
    return f'<details class="diagram"><summary>A diagram, in words; GitHub draws it</summary>{shown}</details>'
