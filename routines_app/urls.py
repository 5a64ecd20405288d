"""Views for a project's own pages: `path("routines/", include("routines_app.urls"))`.

An address has the routine's id: anybody who may add routines chooses names, and a name could look like an id.
"""

from __future__ import annotations

from django.urls import path

from routines_app import views

app_name = "routines"

urlpatterns = [
    path("health/", views.health, name="health"),
    path("<int:routine>/run/", views.run, name="run"),
    path("<int:routine>/pause/", views.pause, name="pause"),
    path("<int:routine>/resume/", views.resume, name="resume"),
    path("<int:routine>/runs/", views.runs, name="runs"),
]
