#!/usr/bin/env bash
# The whole test suite: what `make test` runs. Every part runs even if one before it failed; the exit code says
# whether all passed. BIN is the virtual environment's bin directory, TEST_PROCESSES how many run side by side:
# more than there are cores, because acceptance tests mostly wait.
set -uo pipefail
BIN=${BIN:-.venv/bin}
failed=()

part() {
    local name=$1
    shift
    echo "=== $name"
    "$@" || failed+=("$name")
}

port_answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

part "core, every branch" "$BIN/pytest" -q -n 2 --dist worksteal tests/unit/core --cov=routines_app.core --cov-branch \
    --cov-report=term-missing:skip-covered --cov-fail-under=100
part "everything, on PostgreSQL" "$BIN/pytest" -q -n "${TEST_PROCESSES:-4}" --dist loadscope tests \
    --ignore tests/unit/core
part "storage and protocol, on SQLite" env ROUTINES_TEST_DATABASE=sqlite \
    "$BIN/pytest" -q -n 2 --dist loadscope tests/integration tests/model
if port_answers 3306; then
    part "storage and protocol, on MariaDB" env ROUTINES_TEST_DATABASE=mariadb \
        "$BIN/pytest" -q -n 2 --dist loadscope tests/integration
else
    echo "=== skipped: storage and protocol on MariaDB, because nothing answers on 127.0.0.1:3306"
fi
# By itself: three beats and three workers that are killed all the time leave no core to tests that measure time.
part "chaos, two minutes" "$BIN/python" -m tests.chaos --minutes 2 --seed 7

if ((${#failed[@]})); then
    printf '=== FAILED: %s\n' "${failed[@]}"
    exit 1
fi
echo "=== all passed"
