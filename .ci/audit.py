"""pip-audit over the locked packages: a part of `make check`.

A known vulnerability fails it. Where nobody can be asked about vulnerabilities (no network, a mirror that does not know
them) nothing is known: that is said, and fails nothing, so that the other checks can be run anywhere. Whatever else
keeps pip-audit from a report fails it. Options are passed on to pip-audit: `-s osv`, or `--ignore-vuln ID` for what
does not concern this project.
"""

from __future__ import annotations

import json
import re
import subprocess  # nosec B404 # starts pip-audit
import sys
import tempfile
from pathlib import Path
from typing import Any

LOCK = "requirements/dev.txt"
LIMIT_SECONDS = 180  # for a hundred packages, asked about one after another
ANSWER_SECONDS = 10  # for each of them
SHOWN = 5
# The last line of pip-audit, by itself or by Python: it has not reached the service, or that has failed.
OUTAGE = re.compile(
    r"""
      pip_audit\._service\.interface\.(?: ServiceError | ConnectionError )\b
    | requests\.exceptions\.(?: ConnectionError | \w*Timeout | SSLError | ProxyError | ChunkedEncodingError )\b
    | .* your\ network\ may\ be\ blocking\ this\ service
    """,
    re.VERBOSE,
)


def main(options: list[str]) -> int:
    # The lock by itself first: what keeps it from being read is no outage.
    collected = pip_audit([*options, "--dry-run"])
    if collected is None or collected.returncode:
        print(f"pip-audit cannot read {LOCK}:\n{collected.stderr if collected else 'it takes too long'}")
        return 1
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.json")
        asked = pip_audit([*options, "--format", "json", "--output", str(report)])
        if report.exists():
            return judge(json.loads(report.read_text())["dependencies"])
    if asked is None:
        return unknown(f"no answer within {LIMIT_SECONDS} s")
    said = last_line(asked.stderr)
    if OUTAGE.match(said):
        return unknown(said)
    print(f"pip-audit has failed without a report:\n{asked.stderr}")
    return 1


def pip_audit(options: list[str]) -> subprocess.CompletedProcess[str] | None:
    """What it said; None when it took too long."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", LOCK, "--require-hashes", "--disable-pip"]
    command += ["--progress-spinner", "off", "--timeout", str(ANSWER_SECONDS), *options]
    try:
        return subprocess.run(  # nosec B603 # no shell, and the options are those of who runs the checks
            command, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None


def judge(packages: list[dict[str, Any]]) -> int:
    """pip-audit itself finds nothing wrong with packages that nobody knows: here they are not audited."""
    for package in packages:
        for found in package.get("vulns", []):
            mended = ", ".join(found["fix_versions"]) or "no release yet"
            print(f"pip-audit: {package['name']} {package['version']} has {found['id']}; mended in {mended}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped:
        more = f" and {len(skipped) - SHOWN} more" if len(skipped) > SHOWN else ""
        unknown(f"{len(skipped)} of {len(packages)} packages are not known there: {', '.join(skipped[:SHOWN])}{more}")
    else:
        print(f"pip-audit: {len(packages)} packages audited")
    return 1 if any(package.get("vulns") for package in packages) else 0


def unknown(why: str) -> int:
    print(f"pip-audit: NOT AUDITED, the data about vulnerabilities cannot be reached ({why})")
    return 0


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says nothing"])[-1][:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
