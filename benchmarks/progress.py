"""Progress: one line that says what is being measured and how far it is."""

from __future__ import annotations

import sys
import time


class Progress:
    """Rewrites its line on a terminal; elsewhere prints a line when the subject changes."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.subject = ""
        self._shown_at = 0.0

    def begin(self, subject: str) -> None:
        self.subject = subject
        self.say("")

    def say(self, text: str) -> None:
        line = f"[{time.monotonic() - self.began:5.0f} s] {self.subject}{': ' if text else ''}{text}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
        elif not text or time.monotonic() - self._shown_at > 5:
            sys.stderr.write(line + "\n")
            self._shown_at = time.monotonic()

    def end(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
