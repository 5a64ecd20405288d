"""Views for a project's own pages: `path("routines/", include("routines_app.urls"))`."""

from __future__ import annotations

from django.urls import path

from routines_app import views

app_name = "routines"

urlpatterns = [
    path("<path:routine>/run/", views.run, name="run"),
    path("<path:routine>/pause/", views.pause, name="pause"),
    path("<path:routine>/resume/", views.resume, name="resume"),
    path("<path:routine>/runs/", views.runs, name="runs"),
]
