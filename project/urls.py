"""The admin, and the routines' own views beside it."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("routines/", include("routines_app.urls")),
]
