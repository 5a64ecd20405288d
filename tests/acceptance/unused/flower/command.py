"""What the entry point of Flower names."""

from __future__ import annotations

import click

flower = click.Command("flower")
