"""People with and without permissions, logged in to the admin."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from routines_app.protocol.ledger import clock

Login = Callable[..., Client]


@pytest.fixture(autouse=True)
def ready(db: None, redis_url: str) -> None:
    clock.now()  # the first reading asks the database, which would count as a query of the page


@pytest.fixture
def login() -> Login:
    """A client for someone who may do everything, or only what is named."""

    def logged_in(*permissions: str, everything: bool = False, name: str = "ada") -> Client:
        user = User.objects.create_user(name, password="pw", is_staff=True, is_superuser=everything)
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    return logged_in


@pytest.fixture
def operator(login: Login) -> Client:
    """Someone who may do everything."""
    return login(everything=True, name="root")


@pytest.fixture
def viewer(login: Login) -> Client:
    """Someone who may only look."""
    return login("view_routine", "view_routinerun", "view_pool", name="eve")
