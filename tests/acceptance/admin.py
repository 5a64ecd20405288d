"""Somebody who works in the admin of a stack's web server, over HTTP."""

from __future__ import annotations

import re
from http.cookiejar import CookieJar
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

from django.contrib.auth.models import User


class Admin:
    """A superuser, made in the stack's database and logged in."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.opener: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))
        User.objects.create_superuser("admin", password="admin")
        self.post("/admin/login/?next=/admin/", username="admin", password="admin")

    def post(self, path: str, **fields: str) -> str:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(path))
        assert token is not None, path
        body = urlencode(fields | {"csrfmiddlewaretoken": token[1]}).encode()
        return self.open(path, body)

    def get(self, path: str) -> str:
        return self.open(path)

    def open(self, path: str, body: bytes | None = None) -> str:
        with self.opener.open(self.address + path, body, timeout=30) as answer:
            return str(answer.read(), "utf-8")
