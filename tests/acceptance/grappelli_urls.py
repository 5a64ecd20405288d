"""The project's addresses, as grappelli wants them: its own come first."""

from __future__ import annotations

from django.urls import include, path

from project.urls import urlpatterns as own

urlpatterns = [path("grappelli/", include("grappelli.urls")), *own]
