"""pip-audit in `make check`: a finding fails it, and a service that cannot be asked is no all-clear."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.databases import ROOT
from tests.processes import free_port

SCRIPT = ROOT / ".ci" / "audit.py"
LOCKED = f"shop==1.0 \\\n    --hash=sha256:{'0' * 64}\n"


class Vulnerabilities(BaseHTTPRequestHandler):
    """Answers as OSV does."""

    known: list[dict[str, Any]] = []
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(json.dumps({"vulns": self.known} if self.known else {}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def osv(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Vulnerabilities, "known", [])
    monkeypatch.setattr(Vulnerabilities, "status", 200)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vulnerabilities)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def audit(directory: Path, url: str, lock: str = LOCKED) -> tuple[int, str]:
    """Where a project has this lock."""
    (directory / "requirements").mkdir(exist_ok=True)
    (directory / "requirements" / "dev.txt").write_text(lock)
    command = [sys.executable, str(SCRIPT), "-s", "osv", "--osv-url", url, "--cache-dir", str(directory)]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_known_vulnerability_fails(tmp_path: Path, osv: str) -> None:
    """With the release that mends it; without one there is nothing to say."""
    assert audit(tmp_path, osv) == (0, "pip-audit: 1 packages audited\n")
    mended = {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}
    affected = [{"package": {"name": "shop", "ecosystem": "PyPI"}, "ranges": [mended]}]
    Vulnerabilities.known = [{"id": "PYSEC-1", "affected": affected}]
    code, said = audit(tmp_path, osv)
    assert (code, "shop 1.0 has PYSEC-1; mended in 1.1" in said) == (1, True)


def test_nobody_to_ask_is_said_and_fails_nothing(tmp_path: Path) -> None:
    code, said = audit(tmp_path, f"http://127.0.0.1:{free_port()}/")
    assert (code, "NOT AUDITED" in said) == (0, True), said


def test_a_service_that_answers_with_an_error_is_said_and_fails_nothing(tmp_path: Path, osv: str) -> None:
    Vulnerabilities.status = 503
    code, said = audit(tmp_path, osv)
    assert (code, "NOT AUDITED" in said) == (0, True), said


def test_a_crash_of_pip_audit_is_no_outage(tmp_path: Path, osv: str) -> None:
    """It got an answer, and broke over it: what it says is shown."""
    Vulnerabilities.known = [{"nameless": "PYSEC-1"}]
    code, said = audit(tmp_path, osv)
    assert (code, "NOT AUDITED" in said, "KeyError: 'id'" in said) == (1, False, True), said


def test_packages_that_nobody_knows_are_not_audited(capsys: pytest.CaptureFixture[str]) -> None:
    """Behind a mirror: pip-audit itself calls that `No known vulnerabilities found`."""
    judge = runpy.run_path(str(SCRIPT))["judge"]
    found = {"name": "other", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": []}]}
    skipped = {"name": "shop", "skip_reason": "Dependency not found"}
    assert judge([skipped]) == 0
    assert "NOT AUDITED" in capsys.readouterr().out
    assert judge([skipped, found]) == 1, "what is known is known"


def test_a_lock_that_cannot_be_read_is_no_outage(tmp_path: Path) -> None:
    code, said = audit(tmp_path, f"http://127.0.0.1:{free_port()}/", lock="shop==1.0\n")
    assert (code, "cannot read requirements/dev.txt" in said) == (1, True), said
