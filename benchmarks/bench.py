"""What a scenario is given: the servers, how big to be, and a way to say how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.deployment import Deployment
from benchmarks.progress import Progress
from benchmarks.servers import Servers
from tests.processes import wait_for

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    servers: Servers
    quick: bool
    progress: Progress

    def size(self, full: T, quick: T) -> T:
        """The full size, or that of `--quick`."""
        return quick if self.quick else full

    def deployment(self, **settings: Any) -> Deployment:
        """A fresh database and Redis database; `settings` override the Django settings of its processes."""
        return Deployment(self.servers, **settings)

    def kept_deployment(self, database: str) -> Deployment:
        """One whose database stays for the next time."""
        return Deployment(self.servers, database)

    def wait(self, condition: Callable[[], object], timeout: float, message: str, every: float = 0.05) -> None:
        """Until the condition holds; TimeoutError with the message when it does not in time."""
        wait_for(condition, timeout, message, every)

    def say(self, text: str) -> None:
        self.progress.say(text)
