"""Whoever changes a module finds its tests from its name: `python -m tests.tests_of`."""

from __future__ import annotations

import pytest

from tests.tests_of import KNOWN, PACKAGE, ROOT, find_tests, main

MODULES = [path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts and path.name != "__init__.py"]


def found(module: str) -> list[str]:
    return [str(test.relative_to(ROOT)) for test in find_tests(PACKAGE / module)]


def test_every_module_has_tests() -> None:
    lost = [str(module.relative_to(PACKAGE)) for module in MODULES if not find_tests(module)]

    assert lost == [], "name a test after it, or use in one what it defines"


def test_what_is_found_by_its_name_alone_is_there() -> None:
    assert [
        place for place, test in KNOWN.items() if not (PACKAGE / place).exists() or not (ROOT / test).exists()
    ] == []


def test_tests_with_its_name_come_before_all_others() -> None:
    assert found("verbs/run_now.py") == [
        "tests/integration/verbs/test_run_now.py",
        "tests/integration/verbs/test_run_now_in_line.py",
    ]


def test_a_module_without_a_name_of_its_own_is_found_by_what_it_defines() -> None:
    """Also where a test takes it from the service, or from its package."""
    assert "tests/integration/verbs/test_clear_overrides.py" in found("verbs/clear_overrides.py")
    assert "tests/integration/admin/test_pools.py" in found("models/pool.py")
    assert "tests/integration/verbs/test_edit_pools.py" in found("verbs/list_pools.py")
    assert "tests/integration/protocol/claim/test_default_pool.py" in found("protocol/ledger/default_pool.py")
    assert "tests/integration/protocol/rotate/test_picking.py" in found("protocol/rotate/promote.py")  # it is patched


def test_a_longer_name_beside_it_has_tests_of_its_own() -> None:
    assert found("verbs/hint.py") == ["tests/integration/verbs/test_hint.py"]
    assert "tests/integration/verbs/test_hint_many.py" in found("verbs/hint_many.py")


def test_a_part_of_something_is_tested_through_it() -> None:
    assert "tests/unit/admin/test_charts.py" in found("admin/charts/svg.py")


def test_a_subcommand_is_found_by_its_calls() -> None:
    assert "tests/integration/management/commands/test_adaptive.py" in found("management/subcommands/clear_hints.py")
    assert found("management/subcommands/copy.py") == ["tests/integration/verbs/test_copy.py"]


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tests_of", str(PACKAGE / "verbs" / "pause.py")])

    assert main() == 0
    assert capsys.readouterr().out == "tests/integration/verbs/test_pause.py\n"


def test_without_a_module_it_says_how_to_call_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["tests_of"])

    assert main() == 2
    assert "as routines_app/verbs/pause.py" in capsys.readouterr().err


def test_what_is_no_module_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["tests_of", "routines_app/verbs/gone.py"])

    assert main() == 2
    assert "verbs/gone.py" in capsys.readouterr().err
