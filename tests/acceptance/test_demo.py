"""`make demo` as a newcomer sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from project.demo import commands
from tests.acceptance.databases import ROOT
from tests.processes import answers, free_port, kill_tree, stretched, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy without a .demo directory, so that the demo of whoever works here is left alone."""
    for name in ("manage.py", "project", "routines_app"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    return tmp_path


def told_nothing(checkout: Path) -> dict[str, str]:
    """The environment of a newcomer."""
    ignored = ("REDIS_URL", "BROKER_URL", "DATABASE_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY", "DEBUG")
    return {name: value for name, value in os.environ.items() if name not in ignored} | {"PYTHONPATH": str(checkout)}


def answer(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urlopen(Request(url, headers=headers), timeout=60) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def test_the_web_server_shows_pages_with_their_styles_and_no_settings(checkout: Path) -> None:
    """DEBUG is off, so Django itself serves no static files, and tells no stranger what is where."""
    environment = told_nothing(checkout)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=checkout, env=environment, check=True)
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", *serving(port)], cwd=checkout, env=environment)
    try:
        wait_for(lambda: answers(port) or server.poll() is not None, 30, "the web server did not start")
        page = answer(f"http://127.0.0.1:{port}/admin/login/")
        styles = re.findall(r'href="(/static/[^"]+\.css)"', page[1])
        assert (page[0], bool(styles)) == (200, True)
        assert [answer(f"http://127.0.0.1:{port}{style}")[0] for style in styles] == [200] * len(styles)
        assert "urlpatterns" not in answer(f"http://127.0.0.1:{port}/nowhere")[1]
        assert answer(f"http://127.0.0.1:{port}/admin/login/", Host="attacker.example")[0] == 400
    finally:
        kill_tree(server.pid)  # a web server that is asked to end takes its time
        server.wait()


def serving(port: int) -> list[str]:
    """As the demo does."""
    return commands(port, 0)["web"].removeprefix(f"{sys.executable} -m ").split()


def test_the_demo_runs_every_routine_that_should_run(checkout: Path) -> None:
    """It stops by itself, its table shows every outcome that it was seeded for, and its exit code is 0."""
    environment = told_nothing(checkout) | {"SECONDS_TO_RUN": f"{min(stretched(25), 60):.0f}"}

    demo = subprocess.Popen(
        [sys.executable, "-m", "project.demo"],
        cwd=checkout,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = demo.communicate(timeout=280)  # a busy machine has needed more than three minutes for one of it
    finally:
        kill_tree(demo.pid)  # one that was given up would run on, and leave no core to all other tests
        demo.wait()

    assert demo.returncode == 0, out + err
    assert re.search(r"http://127\.0\.0\.1:\d+/admin/ +login admin", out)
    assert "every routine that should have run did" in out
    row = {line.split()[0]: line for line in out.splitlines() if line.split()[1:]}
    assert " yes " in row["heartbeat"]
    assert "SUCCESS" in row["heartbeat"]
    assert "SKIPPED" in row["sync-inventory"]
    assert "PAUSED" in row["old-newsletter"]
