"""`manage.py node_alive beat|worker`: a container's health check, answered from what the process itself reports."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from routines_app import service
from routines_app.models import Node

SILENT = timedelta(minutes=3)  # three reports missed


class Command(BaseCommand):
    help = "Fail unless a beat or worker on this host has reported itself in the last three minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", choices=["beat", "worker"])

    def handle(self, *args: Any, role: str, **options: Any) -> None:
        here = Node.objects.filter(role=role, host=socket.gethostname())
        if not here.filter(seen_at__gte=service.now() - SILENT).exists():
            raise CommandError(f"no {role} on {socket.gethostname()} has reported itself since {SILENT} ago")
