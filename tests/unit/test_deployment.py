"""What a deployment is made from: no password that others know, and no package that nobody has looked at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
SECRET = re.compile(r"PASSWORD|SECRET|AUTH|TOKEN")
GIVEN = re.compile(r"\$\{([A-Z_]+):\?[^}]+\}")  # compose refuses to start without it, and says why


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
    return found


def test_no_service_has_a_password_of_its_own() -> None:
    """Each comes from the environment, without a default, as a variable or inside an address."""
    seen = set()
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name):
                assert GIVEN.fullmatch(value), f"{name} is {value}"
            elif "://" in value:
                assert re.search(rf"://\w*:{GIVEN.pattern}@", value), f"{name} is {value}"
            seen.update(GIVEN.findall(str(value)))
    assert seen == {"SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "ADMIN_PASSWORD"}
    assert GIVEN.search(str(services()["redis"]["command"])), "the server itself must ask for it"


def test_the_example_names_every_secret_and_gives_none() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert given == dict.fromkeys(GIVEN.findall(COMPOSE), "")
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_web_server_is_a_real_one_and_leases_are_apart_from_the_broker() -> None:
    assert services()["web"]["command"].startswith("gunicorn ")
    assert "runserver" not in COMPOSE
    environment = services()["web"]["environment"]
    assert (environment["BROKER_URL"][-2:], environment["REDIS_URL"][-2:]) == ("/0", "/1")
    assert "DJANGO_SUPERUSER_PASSWORD" not in environment, "only who makes the administrator needs that"


@pytest.mark.parametrize("lock", ["demo", "dev"])
def test_every_locked_package_has_hashes(lock: str) -> None:
    """So pip installs these files and no others; and no file says where this was locked."""
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    packages = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(packages) > 30
    assert [
        each for each in packages if not re.match(r"[\w.\[\],-]+==\S+.*? \\\n +--hash=sha256:[0-9a-f]{64}", each)
    ] == []
    assert not re.search(r"://|--(extra-)?index|--find-links", text)
