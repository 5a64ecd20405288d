"""A real Chromium, logged in to the admin of a live server that sends a strict Content-Security-Policy.

Each test's page must leave no console error and ask no other host. Pictures go to test-results/screenshots/.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission, User
from django.db import connections
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path("test-results", "screenshots")
PATIENCE_MS = 30_000  # an upper bound for busy machines; what is awaited comes within a second elsewhere

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium, or set CHROMIUM")
    # Playwright keeps an event loop in this thread, which Django takes for a reason to refuse database work.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    connections.close_all()  # beside the loop this thread gets other connections, and could not close these any more
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()
        connections.close_all()  # and without it, these
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(autouse=True)
def strict_policy(settings: Settings) -> None:
    settings.MIDDLEWARE = [*django_settings.MIDDLEWARE, "tests.browser.csp.StrictPolicy"]
    settings.ROOT_URLCONF = "tests.browser.urls"


@pytest.fixture
def make_user(transactional_db: None) -> Callable[..., User]:
    def make(name: str = "ada", *, permissions: list[str] | None = None) -> User:
        """Someone who may do everything, or only what is named."""
        if permissions is None:
            return User.objects.create_superuser(name, password="pw")
        user = User.objects.create_user(name, password="pw", is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return user

    return make


@pytest.fixture
def open_page(
    browser: Browser, live_server: LiveServer, redis_url: str, unhurried: None
) -> Iterator[Callable[..., Page]]:
    """Opens an address of the admin as a user; afterwards nothing may have gone wrong on any page."""
    contexts, problems = [], []

    def watch(page: Page) -> None:
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.extend(foreign(request.url, live_server.url)))

    def open_as(
        user: User,
        address: str,
        *,
        bypass_csp: bool = False,
        dark: bool = False,
        zone: str = "America/New_York",
        language: str = "en-GB",
    ) -> Page:
        context = browser.new_context(
            base_url=live_server.url,
            bypass_csp=bypass_csp,
            viewport={"width": 1400, "height": 900},
            timezone_id=zone,
            locale=language,
            color_scheme="dark" if dark else "light",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        context.add_cookies([{"name": "sessionid", "value": session_of(user), "url": live_server.url}])
        page = context.new_page()
        watch(page)
        page.goto(address)
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert problems == []


def session_of(user: User) -> str:
    """Logged in without the log-in page."""
    from django.test import Client

    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def foreign(url: str, home: str) -> list[str]:
    """A request that leaves our host; `data:` and `blob:` leave nothing."""
    parts = urlsplit(url)
    return [f"asked {url}"] if parts.scheme in ("http", "https") and parts.netloc != urlsplit(home).netloc else []


@pytest.fixture
def picture() -> Callable[[Page, str], Path]:
    """Takes a picture of a whole page, to be looked at."""

    def take(page: Page, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path, full_page=True)
        return path

    return take
