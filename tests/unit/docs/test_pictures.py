"""The pictures of the admin are those that the browser tests take, and each is shown, light and dark, by a page."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from tests.browser.shots import LOOKS, MOST_BYTES, SHOTS, file_of, problems
from tests.pages import ROOT, pages, text_of

IMAGES = ROOT / "docs" / "images"
SHOWN = re.compile(
    r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)"><img alt="([^"]+)" src="([^"]+)">'
)


def shown_by(page: str) -> list[tuple[str, str]]:
    """The dark and the light picture of each place, as paths from the root."""
    folder = (ROOT / page).parent
    found = [(dark, light) for dark, _, light in SHOWN.findall(text_of(page))]
    assert len(found) == text_of(page).count("\n<picture>"), f"{page} has one that is written in another way"
    return [tuple((folder / name).relative_to(ROOT).as_posix() for name in pair) for pair in found]


@pytest.mark.parametrize("page", pages())
def test_a_page_shows_both_looks_of_one_picture(page: str) -> None:
    for dark, light in shown_by(page):
        assert dark == light.replace("-light.png", "-dark.png")
        assert (ROOT / light).exists(), light


def test_every_picture_is_taken_by_the_tests_and_shown() -> None:
    taken = {f"docs/images/{file_of(shot, look)}" for shot in SHOTS for look in LOOKS}
    assert taken == {path.relative_to(ROOT).as_posix() for path in IMAGES.glob("*.png")}
    assert taken == {name for page in pages() for pair in shown_by(page) for name in pair}


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_kept_is_small_and_what_it_says_to_be(look: str) -> None:
    for shot in SHOTS:
        path = IMAGES / file_of(shot, look)
        assert path.stat().st_size <= MOST_BYTES, path.name
        with Image.open(path) as picture:
            assert problems(picture.convert("RGB"), look) == [], path.name
