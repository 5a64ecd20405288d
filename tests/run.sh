#!/usr/bin/env bash
# The whole test suite: what `make test` runs. Two lines of parts run side by side, because acceptance tests mostly
# wait; chaos comes after them, beside unit tests. Every part runs even if one before it failed, its output comes whole when
# it has ended, and the exit code says whether all passed. BIN is the virtual environment's bin directory,
# TEST_PROCESSES how many acceptance tests run at once: more than there are cores. With EVERYTHING set, every integration
# test runs on every database, and every case of what takes long.
# A few tests that failed are tried once more when all others have ended, one after another: what passes then is named
# as unsteady at the end, and is no failure unless STRICT is set. It is a defect all the same, of the code or of the
# test; but one that says nothing of what was changed.
set -uo pipefail
set -m # each line is a process group of its own, so that an interrupt reaches all of it
BIN=${BIN:-.venv/bin}
OUT=$(mktemp -d)
PYTEST="$BIN/pytest -q"
SECOND_LOOK_AT_MOST=5 # more than that is no bad luck
# Of schedules, and of ticks: counting their branches would double their time, and others go through each of them.
THOUSANDS=(tests/unit/core/test_cron_against_cronsim.py tests/unit/core/test_rotation_month.py)
# On the other databases: what asks them something that they can answer in their own way, by the rule that
# tests/each_database.py gives; EVERYTHING asks all of it of all of them.
STORAGE=(tests/integration)
[ -n "${EVERYTHING:-}" ] || STORAGE+=(-m each_database)
lines=()
# Hundreds of processes are started, each with a thousand modules: compiled once, whatever the caller's shell prefers.
export PYTHONDONTWRITEBYTECODE=
"$BIN/python" -m compileall -q -j 2 routines_app project tests

port_answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# One part: its output and then its exit code, in files that `tell` finds. Each has a cache of its own, which remembers
# what failed; several at once would write one.
part() {
    local name=$1 file code
    [ -e "$OUT/interrupted" ] && return
    shift
    file=$(mktemp "$OUT/part.XXXXXX")
    echo "=== $name" >"$file"
    echo "--- begins: $name"
    PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -o cache_dir=$file.cache" "$@" >>"$file" 2>&1
    code=$?
    if [ "$code" = 1 ] && [[ "$*" != *--cov* ]] && failed_tests "$file.cache" >"$file.failed"; then
        printf '%q ' env "PYTEST_ADDOPTS=-o cache_dir=$file.cache" "$@" --last-failed -n 0 >"$file.again"
        echo "$name" >"$file.name"
        code=0 # the second look decides
    fi
    echo "$code $name" >"$file.code" && mv "$file.code" "$file.ended"
}

# The tests that failed, if they are few enough for a second look. What failed otherwise (at collection) gets none.
failed_tests() {
    "$BIN/python" - "$1/v/cache/lastfailed" "$SECOND_LOOK_AT_MOST" <<'EOF'
import json, pathlib, sys
noted = pathlib.Path(sys.argv[1])
failed = json.loads(noted.read_text()) if noted.exists() else {}
print(*failed, sep="\n")
sys.exit(not 0 < len(failed) <= int(sys.argv[2]) or not all("::" in each for each in failed))
EOF
}

# What failed among others, by itself.
second_look() {
    local again first
    for again in "$OUT"/*.again; do
        [ -e "$again" ] || continue
        first=${again%.again}
        part "once more, by itself: $(cat "$first.name")" steady "$again" "$first.failed"
    done
}

steady() {
    cat "$2"
    bash "$1" && cat "$2" >>"$OUT/unsteady"
}

# Print what has ended since the last look, one after another.
tell() {
    local ended code name
    for ended in "$OUT"/*.ended; do
        [ -e "$ended" ] || continue
        read -r code name <"$ended"
        cat "${ended%.ended}"
        [ "$code" = 0 ] || echo "$name (exit code $code)" >>"$OUT/failed"
        rm "$ended" "${ended%.ended}"
    done
}

interrupted() {
    trap '' INT TERM
    touch "$OUT/interrupted" # no further part begins
    signal_lines INT         # pytest cleans up as at Ctrl-C
    for _ in $(seq 60); do
        signal_lines 0 && sleep 0.5
    done
    signal_lines TERM
    tell
    cat "$OUT"/part.?????? 2>/dev/null
    echo "=== INTERRUPTED"
    rm -rf "$OUT"
    exit 130
}

# Whether any process of a line was there to get it.
signal_lines() {
    local got=1
    for line in "${lines[@]}"; do
        kill "-$1" -- "-$line" 2>/dev/null && got=0
    done
    return $got
}
trap interrupted INT TERM

run_lines() {
    for line in "$@"; do
        "$line" &
        lines+=($!)
    done
    while [ -n "$(jobs -r)" ]; do
        tell
        sleep 0.5
    done
    tell
}

# Acceptance tests and browsers mostly wait; what runs beside them mostly does not.
mostly_waiting() {
    part "acceptance, on PostgreSQL" $PYTEST -n "${TEST_PROCESSES:-4}" --dist load --maxschedchunk 1 \
        tests/acceptance # in the order of its conftest: the longest first
    part "browser, on PostgreSQL" $PYTEST -n 2 --dist loadscope tests/browser
    part "storage and protocol, on SQLite" env ROUTINES_TEST_DATABASE=sqlite \
        $PYTEST -n 2 --dist loadscope "${STORAGE[@]}" tests/model
}

mostly_working() {
    part "everything else, on PostgreSQL" $PYTEST -n 2 --dist loadscope tests \
        --ignore tests/acceptance --ignore tests/browser --ignore tests/unit
    if command -v mariadbd >/dev/null || port_answers 3306; then
        part "storage and protocol, on MariaDB" env ROUTINES_TEST_DATABASE=mariadb \
            $PYTEST -n 2 --dist loadscope "${STORAGE[@]}"
    else
        echo "=== skipped: storage and protocol on MariaDB, because it is not installed and nothing answers on 127.0.0.1:3306"
    fi
}

# Three beats and three workers that are killed all the time mostly wait, but leave no core to tests that measure time.
chaos() {
    part "chaos, a minute" "$BIN/python" -m tests.chaos --minutes 1 --routines 250 --seed 7
}

# Beside it runs what measures none and needs no servers; it gives way.
giving_way() {
    local gently="nice -n 5 $PYTEST -n 2 --dist worksteal"
    part "core, every branch" $gently tests/unit/core "${THOUSANDS[@]/#/--ignore=}" \
        --cov=routines_app.core --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100
    part "core, by thousands" $gently "${THOUSANDS[@]}"
    part "all other units" ${gently/worksteal/loadscope} tests/unit --ignore tests/unit/core
}

run_lines mostly_waiting mostly_working
run_lines chaos giving_way
run_lines second_look

if [ -s "$OUT/unsteady" ]; then
    sed 's/^/=== UNSTEADY, passed only by itself: /' "$OUT/unsteady"
    [ -z "${STRICT:-}" ] || cat "$OUT/unsteady" >>"$OUT/failed"
fi

if [ -s "$OUT/failed" ]; then
    sed 's/^/=== FAILED: /' "$OUT/failed"
    rm -rf "$OUT"
    exit 1
fi
rm -rf "$OUT"
echo "=== all passed"
