"""Which names announce a secret."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from routines_app.masks import looks_secret

SECRET = """
    password Password passwd passphrase passWord pass_word passcode passwort dbpassword PGPASSWORD user-password
    pwd PWD userPwd mypwd pass PASS db_pass dbPass DBPass smtp-pass dbpass
    secret client_secret secrets aws_secret_access_key token tokens X-Auth-Token accessToken csrfmiddlewaretoken
    api_key apikey apiKey API-Key api_keys x-api-key private_key privateKey privatekey access_key AccessKeyId
    signing_key encryption_key credential credentials awsCredentials jwt jwt_value cookie Cookie set-cookie cookies
    auth basic_auth httpAuth oauth OAuth2 authorization Authorization proxy-authorization dsn sentry_dsn SENTRY_DSN
    --password -password --db-pass
""".split()  # noqa: SIM905 - they are to be read
HARMLESS = """
    author authors authority authored authentic coauthor passenger passengers compass encompass bypass trespass passed
    passes passing passive pathway keyboard monkey hockey key keys primary_key foreign_key public_key sort_key
    access_keyboard url name user host data fields_name records_name backup_wd sudsn cookiecutter task_id
""".split()  # noqa: SIM905 - they are to be read


@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets(name: str) -> None:
    """In any spelling, alone or with other words."""
    assert looks_secret(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_names_that_only_look_like_it(name: str) -> None:
    """A word counts as a whole: what has its letters by chance is shown."""
    assert not looks_secret(name)


@pytest.mark.parametrize("name", [None, 5, 1.5, (), object(), b"\xff", "", "x" * 100_000])
def test_odd_names_are_no_secrets(name: object) -> None:
    """Whatever somebody uses as a key."""
    assert not looks_secret(name)


def test_a_name_in_bytes_is_a_name() -> None:
    """As libraries for HTTP give their headers."""
    assert looks_secret(b"Authorization")


@pytest.mark.parametrize("name", ["iban", "IBAN", "customer_iban_2", "room-key", "room_key", "Room Key"])
def test_a_projects_own_names_come_on_top(settings: Settings, name: str) -> None:
    """Naming one more secret does not show those that are known already."""
    settings.ROUTINES = {"SECRET_PATTERNS": ["iban", "room-key"]}
    assert looks_secret(name)
    assert looks_secret("password")


def test_names_that_a_project_wants_to_see(settings: Settings) -> None:
    """The whole name, in any spelling: nothing else that contains it."""
    settings.ROUTINES = {"NOT_SECRET": ["max_tokens"], "SECRET_PATTERNS": ["tokens"]}
    assert not looks_secret("max_tokens")
    assert not looks_secret("MAX-TOKENS")
    assert looks_secret("max_tokens_2")
