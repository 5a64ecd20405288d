"""`python -m tests.tests_of routines_app/verbs/why/then.py`: the test files to look at first for a module.

1. those with its name, in the folder that mirrors its package;
2. if there is none, those with its name near by, and those that use what it defines, also by way of the service or of
   its package;
3. if nobody does, it is a part of something else: the same for whoever imports it, and so on up.

Unit and integration tests only. What a module means to others is tested elsewhere besides: this is where to begin.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "routines_app"
INTEGRATION = ROOT / "tests" / "integration"
MIRRORS = (ROOT / "tests" / "unit", INTEGRATION)
COMMANDS = INTEGRATION / "management" / "commands"
SUBCOMMANDS = PACKAGE / "management" / "subcommands"
KNOWN = {  # what Django, pytest, a migration or a page finds by its name, or a verb alone uses: no test imports it
    "apps.py": "tests/integration/test_checks.py",
    "management/subcommands/switch_over.py": "tests/integration/test_moving_over_page.py",
    "protocol/plan/held.py": "tests/integration/verbs/test_pause.py",
    "models/index_beside.py": "tests/integration/schema/test_migrations.py",
    "templatetags/routines.py": "tests/integration/test_views.py",
    "templatetags/routines_admin.py": "tests/integration/admin/test_routines.py",
    "testing/fixtures.py": "tests/integration/test_testing_page.py",
    "urls.py": "tests/integration/test_views.py",
}

Users = dict[str, set[Path]]


def main() -> int:
    modules = [Path(argument).resolve() for argument in sys.argv[1:]]
    wrong = [module for module in modules if PACKAGE not in module.parents or not module.is_file()]
    if wrong or not modules:
        print("give modules of the package that are there, as routines_app/verbs/pause.py", *wrong, file=sys.stderr)
        return 2
    found = {test for module in modules for test in find_tests(module)}
    for test in sorted(found):
        print(test.relative_to(ROOT))
    return 0 if found else 1


def find_tests(module: Path) -> list[Path]:
    """In the order of their paths; none for a module that no test reaches."""
    seen, level = {module}, {module}
    while level:
        if found := {test for each in level for test in own_tests(each)}:
            return sorted(found)
        level = {above for each in level for above in users_in_package()[dotted(each)]} - seen
        seen |= level
    return []


def own_tests(module: Path) -> set[Path]:
    return named_after(module) or named_near(module) | users_in_tests()[dotted(module)]


def named_after(module: Path) -> set[Path]:
    place, stem = module.relative_to(PACKAGE), module.stem.strip("_")
    if known := KNOWN.get(str(place)):
        return {ROOT / known}
    if module.parent == SUBCOMMANDS:
        return set(COMMANDS.glob(f"test_{stem}.py")) or callers_of(stem.replace("_", "-"))
    longer = tuple(f"test_{each.stem}" for each in module.parent.glob(f"{stem}_*.py"))  # theirs, then
    patterns = (f"test_{stem}.py", f"test_{stem}_*.py")
    found = {test for mirror in MIRRORS for each in patterns for test in (mirror / place.parent).glob(each)}
    return {test for test in found if not longer or not test.stem.startswith(longer)}


def named_near(module: Path) -> set[Path]:
    """In the folder of another part of the same package: a conformance test, say."""
    top = module.relative_to(PACKAGE).parts[0]
    return {test for mirror in MIRRORS for test in (mirror / top).rglob(f"test_{module.stem}.py")}


def callers_of(subcommand: str) -> set[Path]:
    """By the fixture of the tests of commands, or by Django's `call_command`."""
    call = re.compile(rf'(routines\(|command\(|"routines", )"{subcommand}"')
    return {test for test in INTEGRATION.rglob("test_*.py") if call.search(test.read_text(encoding="utf-8"))}


@cache
def users_in_tests() -> Users:
    return users_in(test for mirror in MIRRORS for test in mirror.rglob("test_*.py"))


@cache
def users_in_package() -> Users:
    """But for those that only pass on what others define: whoever uses it there is found by its name."""
    return users_in(module for module in PACKAGE.rglob("*.py") if not passes_on(module))


def passes_on(module: Path) -> bool:
    return module.name in ("__init__.py", "service.py")


def users_in(files: Iterable[Path]) -> Users:
    """Of each module, who uses it: imports it, or something that a package or the service passes on from it."""
    found: Users = defaultdict(set)
    for file in files:
        for name in used_in(ast.parse(file.read_text(encoding="utf-8"))):
            owner, _, attribute = name.rpartition(".")
            found[passed_on().get(owner, {}).get(attribute, name)].add(file)
            found[owner].add(file)
    return found


def used_in(tree: ast.Module) -> Iterator[str]:
    """The dotted names of modules, and of what is taken from one."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Name(id="service"), attr=name):
                yield f"routines_app.service.{name}"
            case ast.Constant(value=str(name)) if name.startswith("routines_app."):  # what is patched
                yield name


@cache
def passed_on() -> dict[str, dict[str, str]]:
    """For each module that passes on: the names, and where they are defined."""
    return {dotted(module): dict(imported_by(module)) for module in PACKAGE.rglob("*.py") if passes_on(module)}


def imported_by(module: Path) -> Iterator[tuple[str, str]]:
    for statement in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            yield from ((alias.asname or alias.name, statement.module) for alias in statement.names)


def dotted(module: Path) -> str:
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    sys.exit(main())
