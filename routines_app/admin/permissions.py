"""Who may press which button. Each verb has a permission of its own, apart from change."""

from __future__ import annotations

from django.http import HttpRequest


def may(request: HttpRequest, permission: str) -> bool:
    """Whether the person may use `run_routine`, `cancel_routinerun` …"""
    return request.user.has_perm(f"routines.{permission}")


def may_copy(request: HttpRequest) -> bool:
    """A copy has what is hidden of the original, and runs with it: to add is not enough."""
    return may(request, "add_routine") and may(request, "change_routine")


class RoutinePermissions:
    """What Django's admin asks for actions that name the permissions run, pause, reset, hint and archive."""

    def has_run_permission(self, request: HttpRequest) -> bool:
        return may(request, "run_routine")

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return may(request, "pause_routine")

    def has_reset_permission(self, request: HttpRequest) -> bool:
        return may(request, "reset_routine")

    def has_hint_permission(self, request: HttpRequest) -> bool:
        return may(request, "hint_routine")

    def has_archive_permission(self, request: HttpRequest) -> bool:
        return may(request, "change_routine")
