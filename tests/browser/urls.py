"""The admin, the routines' own views, and a page of "somebody's project" with a run button."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import include, path

PAGE = """{% load routines %}<!doctype html><html lang="en"><head><title>Shop</title>{% routine_assets %}</head>
<body><main><h1>Shop</h1>{% routine_button "nightly-report" %}</main></body></html>"""


def own_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(engines["django"].from_string(PAGE).render({}, request))


def no_icon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for it by themselves; a missing one would count as an error of the page."""
    return HttpResponse(status=204)


urlpatterns = [
    path("favicon.ico", no_icon),
    path("admin/", admin.site.urls),
    path("routines/", include("routines_app.urls")),
    path("shop/", own_page),
]
